#include "collect/sample/sample_recording.h"

#include <ctime>
#include <utility>

#include "base/tick_clock.h"

namespace stepscope::sample {
namespace {

void put(std::vector<uint32_t>& numbers, uint32_t at, uint32_t number) {
  if (numbers.size() <= at) numbers.resize(at + 1);
  numbers[at] = number;
}

}  // namespace

SamplingInfo describe_sampling(const SamplerOptions& options) {
  SamplingInfo info;
  info.period_ns = options.period_ns;
  info.is_inside = options.is_inside;
  info.is_native = options.native;
  info.is_paused = options.pause || options.native;
  info.beside_calls = options.beside_calls;
  return info;
}

SampleRecording::SampleRecording(SampleFile& file, const SamplerOptions& options)
    : file_(file), info_(describe_sampling(options)), begin_ns_(read_clock_ns(CLOCK_MONOTONIC)) {}

void SampleRecording::add_process(uint32_t process, pid_t pid, const std::string& command_line) {
  put(processes_, process, file_.add_process(pid, command_line));
}

void SampleRecording::add_thread(uint32_t thread, uint32_t process, int32_t tid,
                                 const ThreadName& name) {
  if (thread < threads_.size()) {
    file_.rename_thread(threads_[thread], name.text, name.is_own);
  } else {
    put(threads_, thread, file_.add_thread(processes_[process], tid, name.text, name.is_own));
  }
}

void SampleRecording::add_function(uint32_t function, std::string_view name, std::string_view file,
                                   int32_t first_line) {
  put(functions_, function, file_.add_frame(name, file, first_line));
}

void SampleRecording::add_stack(uint32_t stack, uint32_t parent, uint32_t function, int32_t line) {
  const uint32_t caller = parent == kNoParent ? SampleFile::kNoStack : stacks_[parent];
  put(stacks_, stack, file_.add_stack(caller, functions_[function], line));
}

void SampleRecording::add_sample(const Sample& sample) {
  Sample own = sample;
  own.thread = threads_[sample.thread];
  own.stack = stacks_[sample.stack];
  Status status = file_.add_sample(own);
  if (status_.ok() && !status.ok()) status_ = std::move(status);
}

void SampleRecording::set_counts(const SamplerCounts& counts) {
  info_.ticks = counts.ticks + counts.missed_ticks;
  info_.missed_ticks = counts.missed_ticks;
  info_.torn_reads = counts.torn;
  file_.set_sampling_info(info_);
}

Status SampleRecording::close(const SamplerCounts& counts) {
  info_.seconds = static_cast<double>(read_clock_ns(CLOCK_MONOTONIC) - begin_ns_) / 1e9;
  set_counts(counts);
  Status closed = file_.close();
  return status_.ok() ? closed : status_;
}

}  // namespace stepscope::sample
