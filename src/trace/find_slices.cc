#include "trace/find_slices.h"

#include "trace/nesting.h"
#include "trace/sort_by_value.h"

namespace stepscope {
namespace {

// Walks the slices of one track along with points in order of time.
class TrackWalk {
 public:
  TrackWalk(const Track& track, const SliceColumns& slices, const LabelTable& labels)
      : slices_(slices),
        labels_(labels),
        next_(track.first_slice),
        end_(track.first_slice + track.slice_count) {}

  SliceId find_next(int64_t time_ns) {
    move_before(time_ns);
    return next_ < end_ ? SliceId{next_} : kNoSlice;
  }

  SliceId find_open(int64_t time_ns) {
    move_before(time_ns);
    // What starts at the very moment is looked at, not passed: the next point may want to bind to
    // it.
    if (looked_at_ != next_) {
      starts_now_ = kNoSlice;
      for (uint32_t row = next_; row < end_ && slices_.start_ns[row] == time_ns; ++row) {
        looked_at_ = next_;
        if (!is_instant(row)) starts_now_ = SliceId{row};
      }
    }
    const bool is_now = next_ < end_ && slices_.start_ns[next_] == time_ns;
    if (is_now && starts_now_ != kNoSlice) return starts_now_;
    while (!open_.empty() && open_.back().end_ns <= time_ns) open_.pop_back();
    return open_.empty() ? kNoSlice : open_.back().row;
  }

 private:
  struct Open {
    int64_t end_ns;
    SliceId row;
  };

  bool is_instant(uint32_t row) const {
    return labels_[slices_.label[row]].kind == SliceKind::kInstant;
  }

  void move_before(int64_t time_ns) {
    for (; next_ < end_ && slices_.start_ns[next_] < time_ns; ++next_) {
      if (is_instant(next_)) continue;
      const int64_t end_ns = slices_.end_ns(next_);
      while (!open_.empty() &&
             !Nesting::holds(open_.back().end_ns, slices_.start_ns[next_], end_ns)) {
        open_.pop_back();
      }
      open_.push_back({end_ns, SliceId{next_}});
    }
  }

  const SliceColumns& slices_;
  const LabelTable& labels_;
  uint32_t next_;
  uint32_t end_;
  uint32_t looked_at_ = UINT32_MAX;  // the value of next_ that starts_now_ belongs to
  SliceId starts_now_ = kNoSlice;
  std::vector<Open> open_;  // each ends no later than the one below it
};

}  // namespace

std::vector<SliceId> find_slices(std::span<const Track> tracks, const SliceColumns& slices,
                                 const LabelTable& labels, std::span<const PointInTime> points) {
  std::vector<SliceId> found(points.size(), kNoSlice);
  std::vector<uint32_t> first(tracks.size() + 1);
  for (const PointInTime& point : points) ++first[index(point.track) + 1];
  for (size_t t = 0; t < tracks.size(); ++t) first[t + 1] += first[t];
  std::vector<uint32_t> by_track(points.size());
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  for (uint32_t i = 0; i < points.size(); ++i) by_track[next[index(points[i].track)]++] = i;

  std::vector<SortKey> keys;
  std::vector<SortKey> scratch;
  for (size_t t = 0; t < tracks.size(); ++t) {
    if (first[t] == first[t + 1] || tracks[t].slice_count == 0) continue;
    keys.clear();
    for (uint32_t at = first[t]; at < first[t + 1]; ++at) {
      keys.push_back({points[by_track[at]].time_ns, by_track[at]});
    }
    sort_by_value(keys, scratch);
    TrackWalk walk(tracks[t], slices, labels);
    for (const SortKey& key : keys) {
      found[key.row] =
          points[key.row].binds_next ? walk.find_next(key.value) : walk.find_open(key.value);
    }
  }
  return found;
}

}  // namespace stepscope
