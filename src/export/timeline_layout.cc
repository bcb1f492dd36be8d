#include "export/timeline_layout.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "base/saturating.h"

namespace stepscope {
namespace {

uint64_t events_of(const Track& track) { return track.slice_count + track.value_count; }

int rank_of(TrackKind kind) {
  switch (kind) {
    case TrackKind::kAsync:
      return 0;  // a recording's steps
    case TrackKind::kThread:
      return 1;
    case TrackKind::kStream:
      return 2;
    case TrackKind::kCounter:
      return 3;
  }
  return 4;
}

// The busiest tracks, in the order to show them.
std::vector<TrackId> choose_tracks(const Trace& trace, size_t limit, uint64_t& left_out) {
  const auto tracks = trace.tracks();
  std::vector<TrackId> chosen;
  for (uint32_t id = 0; id < tracks.size(); ++id) {
    if (events_of(tracks[id]) > 0) chosen.push_back(TrackId{id});
  }
  if (chosen.size() > limit) {
    std::stable_sort(chosen.begin(), chosen.end(), [&](TrackId a, TrackId b) {
      return events_of(tracks[index(a)]) > events_of(tracks[index(b)]);
    });
    left_out = chosen.size() - limit;
    chosen.resize(limit);
  }
  const auto place = [&](TrackId id) {
    const Track& track = tracks[index(id)];
    const Process& process = trace.processes()[track.process];
    return std::tuple(process.has_sort_index ? process.sort_index : 0, track.process,
                      rank_of(track.kind), track.has_sort_index ? track.sort_index : 0, id);
  };
  std::sort(chosen.begin(), chosen.end(),
            [&](TrackId a, TrackId b) { return place(a) < place(b); });
  return chosen;
}

bool is_flat(const Trace& trace, const Track& track) {
  const std::vector<double>& values = trace.counters().value;
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(track.first_value);
  return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(track.value_count),
                     [&](double value) { return value == *begin; });
}

// How many levels a track may have, so that all fit.
uint16_t find_max_levels(const Trace& trace, const std::vector<TrackId>& chosen,
                         const TimelineLimits& limits) {
  const std::vector<uint16_t>& depths = trace.slices().depth;
  std::vector<uint32_t> levels;
  for (const TrackId id : chosen) {
    const Track& track = trace.tracks()[index(id)];
    const auto begin = depths.begin() + track.first_slice;
    if (track.slice_count == 0) continue;
    levels.push_back(*std::max_element(begin, begin + track.slice_count) + 1u);
  }
  uint16_t most = limits.most_levels;
  const auto all_levels = [&] {
    uint64_t sum = 0;
    for (const uint32_t of_track : levels) sum += std::min<uint32_t>(of_track, most);
    return sum;
  };
  while (most > limits.least_levels && all_levels() > limits.all_levels) --most;
  return most;
}

class Boxes {
 public:
  Boxes(const Trace& trace, const TimelineLayout& layout)
      : slices_(trace.slices()), layout_(layout), open_(layout.max_levels) {}

  TimelineTrack build(const Track& track, TrackId id) {
    TimelineTrack out;
    out.track = id;
    std::fill(open_.begin(), open_.end(), Open());
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      if (slices_.depth[row] < layout_.max_levels) add(row, out);
    }
    return out;
  }

 private:
  // The box that slices of a level may still join.
  struct Open {
    int64_t bucket = -1;
    size_t box = 0;
  };

  void add(uint32_t row, TimelineTrack& out) {
    const uint16_t depth = slices_.depth[row];
    const int64_t start_ns = slices_.start_ns[row];
    const int64_t dur_ns = slices_.dur_ns[row];
    out.levels = std::max<uint16_t>(out.levels, depth + 1);
    Open& open = open_[depth];
    const bool is_short = dur_ns < layout_.bucket_ns;
    const int64_t bucket = subtract_saturating(start_ns, layout_.begin_ns) / layout_.bucket_ns;
    if (is_short && open.bucket == bucket) {
      TimelineBox& box = out.boxes[open.box];
      ++box.count;
      box.end_ns = std::max(box.end_ns, start_ns + dur_ns);
      if (dur_ns > slices_.dur_ns[index(box.slice)]) box.slice = SliceId{row};
      return;
    }
    open = {is_short ? bucket : -1, out.boxes.size()};
    out.boxes.push_back({SliceId{row}, 1, depth, start_ns, start_ns + dur_ns});
  }

  const SliceColumns& slices_;
  const TimelineLayout& layout_;
  std::vector<Open> open_;  // by level
};

void add_boxes(const Trace& trace, const std::vector<TrackId>& chosen, const TimelineLimits& limits,
               TimelineLayout& layout) {
  size_t boxes = 0;
  layout.tracks.clear();
  Boxes builder(trace, layout);
  for (const TrackId id : chosen) {
    const Track& track = trace.tracks()[index(id)];
    layout.tracks.push_back(builder.build(track, id));
    layout.tracks.back().is_flat = is_flat(trace, track);
    boxes += layout.tracks.back().boxes.size();
  }
  if (boxes <= limits.boxes || layout.bucket_ns >= layout.span_ns) return;
  layout.bucket_ns = std::min(layout.span_ns, add_saturating(layout.bucket_ns, layout.bucket_ns));
  layout.tracks.clear();
}

void count(const Trace& trace, TimelineLayout& layout) {
  const SliceColumns& slices = trace.slices();
  for (const TimelineTrack& shown : layout.tracks) {
    for (const TimelineBox& box : shown.boxes) {
      if (box.count == 1) continue;
      layout.merged_slices += box.count;
      ++layout.merged_boxes;
    }
    const Track& track = trace.tracks()[index(shown.track)];
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      layout.too_deep += slices.depth[row] >= layout.max_levels;
    }
  }
}

std::vector<SliceId> find_steps(const Trace& trace, const std::vector<TrackId>& chosen) {
  const SliceColumns& slices = trace.slices();
  std::vector<SliceId> steps;
  for (const TrackId id : chosen) {
    const Track& track = trace.tracks()[index(id)];
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      if (trace.labels()[slices.label[row]].kind == SliceKind::kStep) steps.push_back(SliceId{row});
    }
    if (!steps.empty()) break;  // other processes have their own steps
  }
  return steps;
}

}  // namespace

TimelineLayout TimelineLayout::build(const Trace& trace, const TimelineLimits& limits) {
  TimelineLayout layout;
  layout.begin_ns = trace.begin_ns();
  layout.span_ns = std::max<int64_t>(1, subtract_saturating(trace.end_ns(), trace.begin_ns()));
  layout.bucket_ns = std::max<int64_t>(1, layout.span_ns / limits.buckets);
  const std::vector<TrackId> chosen = choose_tracks(trace, limits.tracks, layout.left_out_tracks);
  layout.max_levels = find_max_levels(trace, chosen, limits);
  // Each round has buckets of twice the time, so that there are at most 64.
  do {
    add_boxes(trace, chosen, limits, layout);
  } while (layout.tracks.empty() && !chosen.empty());
  count(trace, layout);
  layout.steps = find_steps(trace, chosen);
  return layout;
}

}  // namespace stepscope
