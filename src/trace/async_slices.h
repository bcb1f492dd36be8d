// AsyncSlices: slices whose end may be recorded by another thread than their begin, so that the two
// come in any order. An id may be used again once its slice has ended.
//
//   AsyncSlices slices;
//   slices.end(7, 2000);
//   slices.begin(7, 1000, builder.add_slice(track, 1000, 0, label));
//   slices.finish(builder, last_ns);     // it lasts 1000 ns
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace_builder.h"

namespace stepscope {

class AsyncSlices {
 public:
  void begin(uint64_t id, int64_t time_ns, SliceRef slice) {
    points_.push_back({id, time_ns, slice});
  }
  void end(uint64_t id, int64_t time_ns) { points_.push_back({id, time_ns, kNoSliceRef}); }
  // What has no end lasts until `last_ns`.
  void finish(TraceBuilder& builder, int64_t last_ns);

 private:
  struct Point {
    uint64_t id;
    int64_t time_ns;
    SliceRef slice;  // kNoSliceRef: an end
  };

  std::vector<Point> points_;
};

}  // namespace stepscope
