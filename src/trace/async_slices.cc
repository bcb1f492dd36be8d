#include "trace/async_slices.h"

#include <algorithm>
#include <tuple>

namespace stepscope {

void AsyncSlices::finish(TraceBuilder& builder, int64_t last_ns) {
  set_durations(builder, last_ns);
  std::erase_if(points_, [](const Point& point) { return !point.is_begin(); });
  put_into_lanes(builder);
  points_ = {};
}

void AsyncSlices::set_durations(TraceBuilder& builder, int64_t last_ns) {
  // At one moment an end comes before the begin that uses its id again.
  std::stable_sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
    return std::tuple(a.id, a.time_ns, a.is_begin()) < std::tuple(b.id, b.time_ns, b.is_begin());
  });
  for (size_t i = 0; i < points_.size(); ++i) {
    const Point& point = points_[i];
    const bool has_next = i + 1 < points_.size() && points_[i + 1].id == point.id;
    if (point.is_begin()) {
      const bool has_end = has_next && !points_[i + 1].is_begin();
      builder.set_dur_ns(point.slice, (has_end ? points_[i + 1].time_ns : last_ns) - point.time_ns);
      if (!has_end) builder.stats().add(Stat::kSlicesOpenAtEnd);
      i += has_end;
    } else if (has_next && points_[i + 1].is_begin() && points_[i + 1].time_ns == point.time_ns) {
      ++i;  // of a slice that ends when it begins
    } else {
      builder.stats().add(Stat::kEndsWithoutBegin);
    }
  }
}

void AsyncSlices::put_into_lanes(TraceBuilder& builder) {
  const auto process = [&](const Point& point) { return builder.track(point.track).process; };
  std::stable_sort(points_.begin(), points_.end(), [&](const Point& a, const Point& b) {
    return std::tuple(process(a), a.time_ns) < std::tuple(process(b), b.time_ns);
  });
  struct Lane {
    int64_t free_ns;
    TrackId track;
  };
  const auto frees_later = [](const Lane& a, const Lane& b) { return a.free_ns > b.free_ns; };
  std::vector<Lane> lanes;  // a heap: the lane that is free first is in front
  for (size_t i = 0; i < points_.size(); ++i) {
    const Point& point = points_[i];
    if (i == 0 || process(points_[i - 1]) != process(point)) lanes.clear();
    const bool is_free = !lanes.empty() && lanes.front().free_ns <= point.time_ns;
    if (is_free || lanes.size() == kMaxLanes) {
      std::pop_heap(lanes.begin(), lanes.end(), frees_later);
    } else {
      Track track;
      track.kind = TrackKind::kAsync;
      track.process = process(point);
      track.name = builder.string("async");
      track.tid.number = static_cast<int64_t>(lanes.size());
      lanes.push_back({point.time_ns, builder.add_track(track)});
    }
    Lane& lane = lanes.back();
    lane.free_ns = std::max(lane.free_ns, point.time_ns + builder.dur_ns(point.slice));
    builder.set_track(point.slice, lane.track);
    std::push_heap(lanes.begin(), lanes.end(), frees_later);
  }
}

}  // namespace stepscope
