// FlowMatcher: the two ends of a recording's arrows, which come thread by thread and so in any
// order, joined by their id. An arrow may arrive several times. An id may be used again: an end
// belongs to the last begin before it in time.
//
//   FlowMatcher flows;
//   flows.end(7, backward, 2000);
//   flows.begin(7, forward, 1000);
//   flows.finish(builder);            // an arrow from forward to backward
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace_builder.h"

namespace stepscope {

class FlowMatcher {
 public:
  // kNoSliceRef: no slice was open there; the arrow is counted as unbound.
  void begin(uint64_t id, SliceRef slice, int64_t time_ns) {
    begins_.push_back({id, time_ns, slice});
  }
  void end(uint64_t id, SliceRef slice, int64_t time_ns) { ends_.push_back({id, time_ns, slice}); }
  // Adds the arrows to the builder and forgets them. A begin without an end, and an end without a
  // begin, are counted as unbound.
  void finish(TraceBuilder& builder);

 private:
  struct Point {
    uint64_t id;
    int64_t time_ns;
    SliceRef slice;
  };

  std::vector<Point> begins_, ends_;
};

}  // namespace stepscope
