// TimelineLayout: what a still picture of a timeline shows. Tracks in order, and on each the slices
// as boxes by depth. Slices shorter than a bucket (at first the time of a pixel) that begin in the
// same bucket of a level are one box; buckets grow until all boxes are within the limit.
//
//   const TimelineLayout layout = TimelineLayout::build(trace, {});
//   for (const TimelineTrack& track : layout.tracks)
//     for (const TimelineBox& box : track.boxes) draw(box);
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

struct TimelineLimits {
  uint32_t buckets = 1'200;  // over the whole time: pixels
  size_t boxes = 20'000;
  size_t tracks = 120;  // those with the most slices or values
  // A track's: as many as let all tracks have no more than all_levels together.
  uint16_t least_levels = 8;
  uint16_t most_levels = 64;
  uint32_t all_levels = 240;
};

struct TimelineBox {
  SliceId slice = kNoSlice;  // the only one, or the longest
  uint32_t count = 1;
  uint16_t depth = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

struct TimelineTrack {
  TrackId track{};
  uint16_t levels = 0;   // 0 of counters
  bool is_flat = false;  // a counter whose values are all the same
  std::vector<TimelineBox> boxes;
};

struct TimelineLayout {
  std::vector<TimelineTrack> tracks;  // by process, threads before streams before counters
  std::vector<SliceId> steps;         // scopes of training steps, by start
  int64_t begin_ns = 0;
  int64_t span_ns = 1;  // at least 1
  int64_t bucket_ns = 1;
  uint16_t max_levels = 0;     // of a track
  uint64_t merged_slices = 0;  // slices in boxes of several
  uint64_t merged_boxes = 0;
  uint64_t too_deep = 0;  // slices
  uint64_t left_out_tracks = 0;

  static TimelineLayout build(const Trace& trace, const TimelineLimits& limits);
};

}  // namespace stepscope
