// AsyncSlices: slices whose end may be recorded by another thread than their begin, so that the two
// come in any order. An id may be used again once its slice has ended.
//
//   AsyncSlices slices;
//   slices.end(7, 2000);
//   slices.begin(7, 1000, builder.add_slice(track, 1000, 0, label), track);
//   slices.finish(builder, last_ns);     // it lasts 1000 ns
//
// They do not nest with what their threads do: finish() moves them from the track where they began
// to lanes of its process, as few as they fit into.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace_builder.h"

namespace stepscope {

class AsyncSlices {
 public:
  // Of one process. What needs more overlaps in the last ones.
  static constexpr size_t kMaxLanes = 1000;

  void begin(uint64_t id, int64_t time_ns, SliceRef slice, TrackId track) {
    points_.push_back({id, time_ns, slice, track});
  }
  void end(uint64_t id, int64_t time_ns) { points_.push_back({id, time_ns, kNoSliceRef, {}}); }
  // What has no end lasts until `last_ns`.
  void finish(TraceBuilder& builder, int64_t last_ns);

 private:
  struct Point {
    uint64_t id;
    int64_t time_ns;
    SliceRef slice;  // kNoSliceRef: an end
    TrackId track;   // of the begin

    bool is_begin() const { return slice != kNoSliceRef; }
  };

  void set_durations(TraceBuilder& builder, int64_t last_ns);
  void put_into_lanes(TraceBuilder& builder);

  std::vector<Point> points_;
};

}  // namespace stepscope
