#include "analyze/launches.h"

#include <algorithm>
#include <utility>

#include "analyze/merge_runs.h"
#include "analyze/operator_rules.h"
#include "base/check.h"
#include "trace/label.h"

namespace stepscope {
namespace {

enum Class : uint8_t { kOther = 0, kCopy, kKernel, kTensorCoreKernel };

// One byte per label, for labels that are new since the last call. Whether one of them is a call.
bool classify(const SliceStream& stream, std::vector<uint8_t>& classes) {
  bool any_call = false;
  const std::vector<Label>& labels = stream.labels().all();
  for (size_t i = classes.size(); i < labels.size(); ++i) {
    Class label_class = kOther;
    if (labels[i].kind == SliceKind::kRuntime) {
      any_call = true;
    } else if (labels[i].kind == SliceKind::kKernel) {
      const bool tensor_cores = uses_tensor_cores(stream.strings().view(labels[i].name));
      label_class = tensor_cores ? kTensorCoreKernel : kKernel;
    } else if (is_device_work(labels[i].kind)) {
      label_class = kCopy;
    }
    classes.push_back(label_class);
  }
  return any_call;
}

void add_to(Launch& into, const Launch& launch) {
  into.device_ns += launch.device_ns;
  into.kernel_ns += launch.kernel_ns;
  into.tensor_core_ns += launch.tensor_core_ns;
  into.first_start_ns = std::min(into.first_start_ns, launch.first_start_ns);
  into.last_end_ns = std::max(into.last_end_ns, launch.last_end_ns);
  into.device_slices += launch.device_slices;
}

}  // namespace

std::shared_ptr<const Launches> Launches::of(const Trace& trace) {
  return trace.derived().get<Launches>("launches", [&] {
    TraceSliceStream stream(trace);
    Result<Launches> launches = build(stream);
    CHECK(launches, "reading a loaded trace does not fail");
    return *std::move(launches);
  });
}

Result<Launches> Launches::build(SliceStream& stream) {
  Launches result;
  std::vector<uint8_t> classes;
  bool has_calls = false;
  SliceBlock block;
  while (true) {
    const Result<bool> more = stream.next(block);
    if (!more) return more.status();
    if (!*more) break;
    has_calls |= classify(stream, classes);
    result.add_block(block, stream.strings(), classes, has_calls);
  }
  if (const Status status = stream.rewind(); !status.ok()) return status;
  if (has_calls) result.external_ids_.clear();
  result.sort_entries();
  if (!has_calls) result.key_by_external_id();
  return result;
}

void Launches::add_block(const SliceBlock& block, const StringPool& strings,
                         const std::vector<uint8_t>& classes, bool has_calls) {
  ArgCursor correlations(block, strings, "correlation", ArgType::kInt);
  ArgCursor externals(block, strings, "External id", ArgType::kInt);
  ArgCursor old_externals(block, strings, "external id", ArgType::kInt);
  int64_t last_correlation = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const uint8_t label_class = classes[index(block.label[i])];
    if (label_class == kOther) continue;
    const int64_t correlation = correlations.find_int(block.row(i)).value_or(0);
    // The kernels of a graph follow each other, and are one launch.
    if (correlation == 0 || correlation != last_correlation) {
      if (correlation != 0) {
        entries_.push_back({correlation, static_cast<uint32_t>(launches_.size())});
      }
      launches_.emplace_back();
      last_correlation = correlation;
    }
    const int64_t dur_ns = block.dur_ns(i);
    add_to(launches_.back(), {.device_ns = dur_ns,
                              .kernel_ns = label_class >= kKernel ? dur_ns : 0,
                              .tensor_core_ns = label_class == kTensorCoreKernel ? dur_ns : 0,
                              .first_start_ns = block.start_ns[i],
                              .last_end_ns = block.start_ns[i] + dur_ns,
                              .device_slices = 1});
    if (has_calls) continue;
    auto external = externals.find_int(block.row(i));
    if (!external) external = old_externals.find_int(block.row(i));
    external_ids_.resize(launches_.size());
    external_ids_.back() = external.value_or(0);
  }
}

void Launches::sort_entries() {
  merge_runs(entries_, [](const Entry& a, const Entry& b) { return a.id < b.id; });
  size_t kept = 0;
  for (const Entry& entry : entries_) {
    if (kept == 0 || entries_[kept - 1].id != entry.id) {
      entries_[kept++] = entry;
      continue;
    }
    const uint32_t first = entries_[kept - 1].launch;
    add_to(launches_[first], std::exchange(launches_[entry.launch], Launch()));
    if (!external_ids_.empty()) {
      external_ids_[first] = std::exchange(external_ids_[entry.launch], 0);
    }
  }
  entries_.resize(kept);
}

void Launches::key_by_external_id() {
  std::vector<Launch> found;
  entries_.clear();
  for (size_t i = 0; i < launches_.size(); ++i) {
    if (external_ids_[i] == 0) continue;
    entries_.push_back({external_ids_[i], static_cast<uint32_t>(found.size())});
    found.push_back(launches_[i]);
  }
  launches_.swap(found);
  key_ = LaunchKey::kExternal;
  external_ids_.clear();
  sort_entries();
}

void LaunchCursor::seek(int64_t id) {
  const auto is_before = [](const Launches::Entry& entry, int64_t wanted) {
    return entry.id < wanted;
  };
  const auto at = [&](size_t i) { return entries_.begin() + static_cast<ptrdiff_t>(i); };
  if ((at_ == 0 || entries_[at_ - 1].id < id) &&
      (at_ == entries_.size() || entries_[at_].id >= id)) {
    return;
  }
  size_t begin = 0;
  size_t end = at_;
  if (at_ < entries_.size() && entries_[at_].id < id) {
    size_t stride = 1;
    begin = at_;
    while (begin + stride < entries_.size() && entries_[begin + stride].id < id) {
      begin += stride;
      stride *= 2;
    }
    end = std::min(begin + stride, entries_.size());
  }
  at_ = static_cast<size_t>(std::lower_bound(at(begin), at(end), id, is_before) - entries_.begin());
}

}  // namespace stepscope
