#include "analyze/launches.h"

#include <algorithm>

#include "analyze/operator_rules.h"
#include "trace/label.h"

namespace stepscope {
namespace {

enum Class : uint8_t { kOther = 0, kCall, kCopy, kKernel, kTensorCoreKernel };

// One byte per label, for labels that are new since the last call. Whether one of them is a call.
bool classify(const SliceStream& stream, std::vector<uint8_t>& classes) {
  bool any_call = false;
  const std::vector<Label>& labels = stream.labels().all();
  for (size_t i = classes.size(); i < labels.size(); ++i) {
    Class label_class = kOther;
    if (labels[i].kind == SliceKind::kRuntime) {
      label_class = kCall;
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

}  // namespace

Launches::Launch& Launches::add(int64_t correlation) {
  // Other streams may begin with earlier ids than the first one did.
  constexpr int64_t kSlack = 1 << 18;
  if (launches_.empty()) first_correlation_ = std::max<int64_t>(correlation, kSlack) - kSlack;
  const uint64_t offset =
      static_cast<uint64_t>(correlation) - static_cast<uint64_t>(first_correlation_);
  const auto next = static_cast<uint32_t>(launches_.size() + 1);
  uint32_t* slot = nullptr;
  if (offset < near_correlations_.size()) {
    slot = &near_correlations_[offset];
  } else if (offset < 2 * kSlack + 64 * launches_.size() && far_correlations_.size() == 0) {
    near_correlations_.resize(std::max<size_t>(offset + 1, 2 * near_correlations_.size()));
    slot = &near_correlations_[offset];
  } else {
    slot = &far_correlations_.try_emplace(static_cast<uint64_t>(correlation), 0).value;
  }
  if (*slot == 0) {
    *slot = next;
    launches_.emplace_back();
  }
  return launches_[*slot - 1];
}

Result<Launches> Launches::build(const Trace& trace) {
  return *trace.derived().get<Result<Launches>>("launches", [&] {
    TraceSliceStream stream(trace);
    return build(stream);
  });
}

Result<Launches> Launches::build(SliceStream& stream) {
  Launches result;
  std::vector<uint8_t> classes;
  SliceBlock block;
  while (true) {
    const Result<bool> more = stream.next(block);
    if (!more) return more.status();
    if (!*more) break;
    result.has_calls_ |= classify(stream, classes);
    result.add_block(block, stream, classes);
  }
  if (const Status status = stream.rewind(); !status.ok()) return status;
  result.index_external();
  return result;
}

void Launches::add_block(const SliceBlock& block, const SliceStream& stream,
                         const std::vector<uint8_t>& classes) {
  const StringPool& strings = stream.strings();
  ArgCursor correlations(block, strings, "correlation", ArgType::kInt);
  ArgCursor externals(block, strings, "External id", ArgType::kInt);
  ArgCursor old_externals(block, strings, "external id", ArgType::kInt);
  for (size_t i = 0; i < block.size(); ++i) {
    const uint8_t label_class = classes[index(block.label[i])];
    if (label_class == kOther) continue;
    if (label_class == kCall) continue;
    const int64_t correlation = correlations.find_int(block.row(i)).value_or(0);
    Launch* launch = nullptr;
    if (correlation != 0) {
      launch = &add(correlation);
    } else {
      launch = &launches_.emplace_back();
    }
    const int64_t dur_ns = block.dur_ns(i);
    launch->device_ns += dur_ns;
    if (label_class >= kKernel) launch->kernel_ns += dur_ns;
    if (label_class == kTensorCoreKernel) launch->tensor_core_ns += dur_ns;
    launch->first_start_ns = std::min(launch->first_start_ns, block.start_ns[i]);
    launch->last_end_ns = std::max(launch->last_end_ns, block.start_ns[i] + dur_ns);
    ++launch->device_slices;
    if (has_calls_) continue;
    auto external = externals.find_int(block.row(i));
    if (!external) external = old_externals.find_int(block.row(i));
    launch->external_id = external.value_or(0);
  }
}

void Launches::index_external() {
  if (has_calls_) return;
  std::vector<Launch> merged;
  for (const Launch& launch : launches_) {
    if (launch.external_id == 0) continue;
    const auto next = static_cast<uint32_t>(merged.size());
    const auto [slot, is_new] =
        by_external_.try_emplace(static_cast<uint64_t>(launch.external_id), next);
    if (is_new) {
      merged.push_back(launch);
      continue;
    }
    Launch& into = merged[slot];
    into.device_ns += launch.device_ns;
    into.kernel_ns += launch.kernel_ns;
    into.tensor_core_ns += launch.tensor_core_ns;
    into.first_start_ns = std::min(into.first_start_ns, launch.first_start_ns);
    into.last_end_ns = std::max(into.last_end_ns, launch.last_end_ns);
    into.device_slices += launch.device_slices;
  }
  // Found by their operator only from here on.
  launches_.swap(merged);
  near_correlations_.clear();
  far_correlations_ = {};
}

Launches::Launch* Launches::find_correlation(int64_t id) {
  const uint64_t offset = static_cast<uint64_t>(id) - static_cast<uint64_t>(first_correlation_);
  const uint32_t* slot = offset < near_correlations_.size()
                             ? &near_correlations_[offset]
                             : far_correlations_.find(static_cast<uint64_t>(id));
  return slot == nullptr || *slot == 0 ? nullptr : &launches_[*slot - 1];
}

Launches::Launch* Launches::find_external(int64_t id) {
  const uint32_t* slot = by_external_.find(static_cast<uint64_t>(id));
  return slot == nullptr ? nullptr : &launches_[*slot];
}

}  // namespace stepscope
