// SliceScope: the part of a trace that something is worked out for: some tracks, some time; of
// samples CPU or wall time. The test per slice is two comparisons.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/columns.h"
#include "trace/ids.h"

namespace stepscope {

struct SliceScope {
  std::vector<uint8_t> tracks;  // by TrackId, 0: left out; empty: all
  int64_t begin_ns = INT64_MIN;
  int64_t end_ns = INT64_MAX;
  SampleWeight sample_weight = SampleWeight::kCpuWhereKnown;

  bool takes_track(TrackId track) const { return tracks.empty() || tracks[index(track)] != 0; }
  bool takes_time(int64_t start_ns) const { return begin_ns <= start_ns && start_ns < end_ns; }
};

}  // namespace stepscope
