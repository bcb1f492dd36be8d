#include "cli/top_session.h"

#include <utility>

#include "collect/sample/python_layout.h"
#include "collect/sample/python_process.h"

namespace stepscope::cli {

std::vector<Status> TopSession::start(const std::vector<pid_t>& pids) {
  std::vector<Status> added = sampling_.start(pids);
  for (const Status& status : added) {
    if (!status) notes_.push_back(status.message());
  }
  counts_.emplace(options_.spans_of_now, sampling_.start_ns());
  make_view();
  return added;
}

bool TopSession::refresh() {
  TopBatch batch = sampling_.take();
  if (batch.end.end_ns == 0) return false;
  batch.tell(*counts_);
  counts_->end_span(std::move(batch.end));
  left_out_ = batch.left_out;
  make_view();
  return true;
}

void TopSession::reset() {
  counts_->reset();
  make_view();
}

void TopSession::make_view() {
  view_ = counts_->build_view();
  view_.period_ns = options_.sampler.period_ns;
  view_.left_out = left_out_;
  view_.notes = notes_;
  for (TopProcess& process : view_.processes) process.python = find_version(process.pid);
}

std::string TopSession::find_version(pid_t pid) {
  if (const auto known = versions_.find(pid); known != versions_.end()) return known->second;
  const auto python = sample::PythonProcess::find(pid);
  const std::string version = python ? sample::to_text(python->layout().version) : "";
  versions_.emplace(pid, version);
  return version;
}

}  // namespace stepscope::cli
