// Launches: which work on a device was started by which call on the host. A kernel carries the
// correlation id of the runtime call that launched it; in a trace without such calls the External
// id of the operator has to do. Made in one pass over the device's slices, of a loaded trace or of
// a stream; holds one entry per launch.
//
//   std::shared_ptr<const Launches> launches = Launches::of(trace);
//   LaunchCursor cursor(*launches, LaunchKey::kCorrelation);
//   if (const Launch* launch = cursor.find(id)) device_ns += launch->device_ns;
//
// Slow equivalent: std::map<int64_t, Launch>. Ids are counters and are asked for in the order of
// the calls, so that the one wanted is nearly always next to the one before.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "trace/slice_stream.h"
#include "trace/trace.h"

namespace stepscope {

struct Launch {
  int64_t device_ns = 0;  // kernels, copies and fills together
  int64_t kernel_ns = 0;
  int64_t tensor_core_ns = 0;
  int64_t first_start_ns = INT64_MAX;
  int64_t last_end_ns = INT64_MIN;
  uint32_t device_slices = 0;
};

enum class LaunchKey : uint8_t { kCorrelation, kExternal };

class Launches {
 public:
  static Result<Launches> build(SliceStream& stream);
  // Those of a loaded trace, made once.
  static std::shared_ptr<const Launches> of(const Trace& trace);

  bool empty() const { return launches_.empty(); }
  // In no order. One that turned out to be part of an earlier one is left without slices.
  std::span<const Launch> all() const { return launches_; }
  uint32_t index_of(const Launch& launch) const {
    return static_cast<uint32_t>(&launch - launches_.data());
  }
  // What launches can be found by: kExternal only in a trace without runtime calls.
  LaunchKey key() const { return key_; }

 private:
  friend class LaunchCursor;
  struct Entry {
    int64_t id;
    uint32_t launch;
  };

  void add_block(const SliceBlock& block, const StringPool& strings,
                 const std::vector<uint8_t>& classes, bool has_calls);
  void sort_entries();
  void key_by_external_id();

  std::vector<Launch> launches_;
  std::vector<Entry> entries_;  // by id, each once
  LaunchKey key_ = LaunchKey::kCorrelation;
  std::vector<int64_t> external_ids_;  // by launch; while no runtime call was seen
};

// Finds launches by id. Costs next to nothing for an id near the one before, O(log n) for others.
class LaunchCursor {
 public:
  // Finds nothing where the launches have another key.
  LaunchCursor(const Launches& launches, LaunchKey key)
      : launches_(launches.launches_),
        entries_(key == launches.key() ? std::span(launches.entries_)
                                       : std::span<const Launches::Entry>()) {}

  const Launch* find(int64_t id) {
    if (at_ < entries_.size() && entries_[at_].id < id) ++at_;
    if (at_ == entries_.size() || entries_[at_].id != id) seek(id);
    if (at_ == entries_.size() || entries_[at_].id != id) return nullptr;
    return &launches_[entries_[at_].launch];
  }

 private:
  void seek(int64_t id);  // to the first entry that is not before `id`

  std::span<const Launch> launches_;
  std::span<const Launches::Entry> entries_;
  size_t at_ = 0;
};

}  // namespace stepscope
