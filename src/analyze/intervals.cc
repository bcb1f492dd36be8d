#include "analyze/intervals.h"

#include <algorithm>

#include "analyze/merge_runs.h"

namespace stepscope {

void IntervalSet::add(int64_t begin_ns, int64_t end_ns) {
  if (end_ns <= begin_ns) return;
  if (!intervals_.empty()) {
    Interval& last = intervals_.back();
    if (last.begin_ns <= begin_ns && begin_ns <= last.end_ns) {
      last.end_ns = std::max(last.end_ns, end_ns);
      return;
    }
  }
  intervals_.push_back({begin_ns, end_ns});
}

void IntervalSet::normalize() {
  merge_runs(intervals_,
             [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  size_t kept = 0;
  for (const Interval& interval : intervals_) {
    if (kept > 0 && interval.begin_ns <= intervals_[kept - 1].end_ns) {
      intervals_[kept - 1].end_ns = std::max(intervals_[kept - 1].end_ns, interval.end_ns);
    } else {
      intervals_[kept++] = interval;
    }
  }
  intervals_.resize(kept);
}

int64_t IntervalSet::total_ns() const {
  int64_t total_ns = 0;
  for (const Interval& interval : intervals_) total_ns += interval.end_ns - interval.begin_ns;
  return total_ns;
}

int64_t IntervalSet::total_ns_in(const Interval& range) const {
  auto it = std::upper_bound(
      intervals_.begin(), intervals_.end(), range.begin_ns,
      [](int64_t begin_ns, const Interval& interval) { return begin_ns < interval.end_ns; });
  int64_t total_ns = 0;
  for (; it != intervals_.end() && it->begin_ns < range.end_ns; ++it) {
    total_ns += std::max<int64_t>(
        0, std::min(it->end_ns, range.end_ns) - std::max(it->begin_ns, range.begin_ns));
  }
  return total_ns;
}

IntervalSet intersect(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet result;
  size_t i = 0;
  size_t j = 0;
  while (i < a.intervals_.size() && j < b.intervals_.size()) {
    const Interval& x = a.intervals_[i];
    const Interval& y = b.intervals_[j];
    const int64_t begin_ns = std::max(x.begin_ns, y.begin_ns);
    const int64_t end_ns = std::min(x.end_ns, y.end_ns);
    if (begin_ns < end_ns) result.intervals_.push_back({begin_ns, end_ns});
    if (x.end_ns < y.end_ns) {
      ++i;
    } else {
      ++j;
    }
  }
  return result;
}

IntervalSet subtract(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet result;
  size_t j = 0;
  for (const Interval& whole : a.intervals_) {
    int64_t begin_ns = whole.begin_ns;
    while (j < b.intervals_.size() && b.intervals_[j].end_ns <= begin_ns) ++j;
    for (size_t k = j; k < b.intervals_.size() && b.intervals_[k].begin_ns < whole.end_ns; ++k) {
      const Interval& hole = b.intervals_[k];
      if (hole.begin_ns > begin_ns) result.intervals_.push_back({begin_ns, hole.begin_ns});
      begin_ns = std::max(begin_ns, hole.end_ns);
    }
    if (begin_ns < whole.end_ns) result.intervals_.push_back({begin_ns, whole.end_ns});
  }
  return result;
}

}  // namespace stepscope
