// SliceFilter: which tracks and which times the user asked for (--track, --range). Made once per
// analysis; the test per slice is two comparisons.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/table.h"
#include "base/status.h"
#include "trace/slice_stream.h"
#include "trace/trace.h"

namespace stepscope {

class SliceFilter {
 public:
  static Result<SliceFilter> make(const Trace& trace, const TableOptions& options);

  bool takes_all() const { return takes_all_; }
  bool takes_track(TrackId track) const { return tracks_.empty() || tracks_[index(track)] != 0; }
  bool takes_time(int64_t start_ns) const { return begin_ns_ <= start_ns && start_ns < end_ns_; }
  int64_t begin_ns() const { return begin_ns_; }
  int64_t end_ns() const { return end_ns_; }

 private:
  std::vector<uint8_t> tracks_;  // empty: all
  int64_t begin_ns_ = INT64_MIN;
  int64_t end_ns_ = INT64_MAX;
  bool takes_all_ = true;
};

// A track's name as users see it and as --track matches it: "python 25738 / thread 25772 (python)".
std::string track_title(const Trace& trace, TrackId track);

}  // namespace stepscope
