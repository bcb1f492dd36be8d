// Which slice is open at a moment on a track, for many moments at once: how arrows and allocations
// find the slice that they belong to.
//
// Slow equivalent, per point: the last slice of the track that starts at or before it and ends
// after it (one of no length is open at its moment; instants hold nothing), or, where binds_next,
// the first that starts at or after it. Here both are walked side by side in order of time, so that
// neither the depth of the nesting nor the number of points per slice matters: O(slices + points).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/columns.h"
#include "trace/ids.h"
#include "trace/label.h"
#include "trace/track.h"

namespace stepscope {

struct PointInTime {
  int64_t time_ns;
  TrackId track;
  bool binds_next;
};

// One SliceId per point, kNoSlice where there is none. The slices must be sorted.
std::vector<SliceId> find_slices(std::span<const Track> tracks, const SliceColumns& slices,
                                 const LabelTable& labels, std::span<const PointInTime> points);

}  // namespace stepscope
