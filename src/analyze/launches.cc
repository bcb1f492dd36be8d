#include "analyze/launches.h"

#include <algorithm>

#include "analyze/operator_rules.h"
#include "trace/label.h"

namespace stepscope {
namespace {

enum Class : uint8_t { kOther = 0, kCall, kCopy, kKernel, kTensorCoreKernel };

// One byte per label, for labels that are new since the last call.
void classify(const SliceStream& stream, std::vector<uint8_t>& classes) {
  const std::vector<Label>& labels = stream.labels().all();
  for (size_t i = classes.size(); i < labels.size(); ++i) {
    Class label_class = kOther;
    if (labels[i].kind == SliceKind::kRuntime) {
      label_class = kCall;
    } else if (labels[i].kind == SliceKind::kKernel) {
      const bool tensor_cores = uses_tensor_cores(stream.strings().view(labels[i].name));
      label_class = tensor_cores ? kTensorCoreKernel : kKernel;
    } else if (is_device_work(labels[i].kind)) {
      label_class = kCopy;
    }
    classes.push_back(label_class);
  }
}

}  // namespace

uint32_t& Launches::IdMap::operator[](int64_t id) {
  if (count_ == 0) base_ = id > INT64_MIN + 1024 ? id - 1024 : id;
  const uint64_t offset = static_cast<uint64_t>(id) - static_cast<uint64_t>(base_);
  if (offset < dense_.size()) return dense_[offset];
  if (!sparse_.empty()) {
    if (const auto it = sparse_.find(id); it != sparse_.end()) return it->second;
  }
  ++count_;
  if (!is_dense(offset)) return sparse_[id];
  dense_.resize(std::max<size_t>(offset + 1, dense_.size() * 3 / 2));
  // What was too far off before lies in the table now.
  for (auto it = sparse_.begin(); it != sparse_.end();) {
    const uint64_t other = static_cast<uint64_t>(it->first) - static_cast<uint64_t>(base_);
    if (other < dense_.size()) {
      dense_[other] = it->second;
      it = sparse_.erase(it);
    } else {
      ++it;
    }
  }
  return dense_[offset];
}

uint32_t Launches::IdMap::find(int64_t id) const {
  const uint64_t offset = static_cast<uint64_t>(id) - static_cast<uint64_t>(base_);
  if (offset < dense_.size()) return dense_[offset];
  if (sparse_.empty()) return 0;
  const auto it = sparse_.find(id);
  return it == sparse_.end() ? 0 : it->second;
}

Launches::Launch& Launches::add(IdMap& map, int64_t id) {
  uint32_t& slot = map[id];
  if (slot == 0) {
    launches_.emplace_back();
    slot = static_cast<uint32_t>(launches_.size());
  }
  return launches_[slot - 1];
}

Result<Launches> Launches::build(SliceStream& stream) {
  Launches result;
  std::vector<uint8_t> classes;
  SliceBlock block;
  while (true) {
    const Result<bool> more = stream.next(block);
    if (!more) return more.status();
    if (!*more) break;
    classify(stream, classes);
    result.add_block(block, stream, classes);
  }
  if (const Status status = stream.rewind(); !status.ok()) return status;
  result.index_external();
  return result;
}

void Launches::add_block(const SliceBlock& block, const SliceStream& stream,
                         const std::vector<uint8_t>& classes) {
  ArgCursor correlations(block, stream.strings(), "correlation", ArgType::kInt);
  ArgCursor externals(block, stream.strings(), "External id", ArgType::kInt);
  ArgCursor old_externals(block, stream.strings(), "external id", ArgType::kInt);
  for (size_t i = 0; i < block.size(); ++i) {
    const uint8_t label_class = classes[index(block.label[i])];
    if (label_class == kOther) continue;
    if (label_class == kCall) {
      has_calls_ = true;
      continue;
    }
    const int64_t correlation = correlations.find_int(block.row(i)).value_or(0);
    Launch* launch = nullptr;
    if (correlation != 0) {
      launch = &add(by_correlation_, correlation);
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
    uint32_t& slot = by_external_[launch.external_id];
    if (slot == 0) {
      merged.push_back(launch);
      slot = static_cast<uint32_t>(launches_.size() + merged.size());
      continue;
    }
    Launch& into = merged[slot - 1 - launches_.size()];
    into.device_ns += launch.device_ns;
    into.kernel_ns += launch.kernel_ns;
    into.tensor_core_ns += launch.tensor_core_ns;
    into.first_start_ns = std::min(into.first_start_ns, launch.first_start_ns);
    into.last_end_ns = std::max(into.last_end_ns, launch.last_end_ns);
    into.device_slices += launch.device_slices;
  }
  launches_.insert(launches_.end(), merged.begin(), merged.end());
}

Launches::Launch* Launches::find_correlation(int64_t id) {
  const uint32_t slot = by_correlation_.find(id);
  return slot == 0 ? nullptr : &launches_[slot - 1];
}

Launches::Launch* Launches::find_external(int64_t id) {
  const auto it = by_external_.find(id);
  return it == by_external_.end() ? nullptr : &launches_[it->second - 1];
}

}  // namespace stepscope
