#include "analyze/intervals.h"

#include <algorithm>

#include "analyze/merge_runs.h"

namespace stepscope {

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

const Interval* IntervalSet::find(int64_t time_ns) const {
  const auto it = std::upper_bound(
      intervals_.begin(), intervals_.end(), time_ns,
      [](int64_t wanted_ns, const Interval& interval) { return wanted_ns < interval.end_ns; });
  return it != intervals_.end() && it->begin_ns <= time_ns ? &*it : nullptr;
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

IntervalTotals::IntervalTotals(const IntervalSet& set) : intervals_(set.intervals()) {
  before_ns_.reserve(intervals_.size());
  int64_t total_ns = 0;
  for (const Interval& interval : intervals_) {
    before_ns_.push_back(total_ns);
    total_ns += interval.end_ns - interval.begin_ns;
  }
}

int64_t IntervalTotals::ns_before(int64_t time_ns) const {
  const auto after = std::lower_bound(
      intervals_.begin(), intervals_.end(), time_ns,
      [](const Interval& interval, int64_t wanted_ns) { return interval.begin_ns < wanted_ns; });
  if (after == intervals_.begin()) return 0;
  const auto last = after - 1;
  return before_ns_[static_cast<size_t>(last - intervals_.begin())] +
         std::min(last->end_ns, time_ns) - last->begin_ns;
}

void IntervalSet::unite(const IntervalSet& other) {
  if (other.empty()) return;
  std::vector<Interval> united;
  united.reserve(intervals_.size() + other.intervals_.size());
  auto a = intervals_.begin();
  auto b = other.intervals_.begin();
  while (a != intervals_.end() || b != other.intervals_.end()) {
    const bool takes_a =
        b == other.intervals_.end() || (a != intervals_.end() && a->begin_ns <= b->begin_ns);
    const Interval next = takes_a ? *a++ : *b++;
    if (!united.empty() && next.begin_ns <= united.back().end_ns) {
      united.back().end_ns = std::max(united.back().end_ns, next.end_ns);
    } else {
      united.push_back(next);
    }
  }
  intervals_.swap(united);
}

void IntervalSet::subtract(const IntervalSet& other) {
  std::vector<Interval> left;
  auto cut = other.intervals_.begin();
  for (Interval interval : intervals_) {
    while (cut != other.intervals_.end() && cut->end_ns <= interval.begin_ns) ++cut;
    // One that reaches beyond this interval may cut the next one too.
    for (auto at = cut; at != other.intervals_.end() && at->begin_ns < interval.end_ns; ++at) {
      if (at->begin_ns > interval.begin_ns) left.push_back({interval.begin_ns, at->begin_ns});
      interval.begin_ns = at->end_ns;
    }
    if (interval.begin_ns < interval.end_ns) left.push_back(interval);
  }
  intervals_.swap(left);
}

void IntervalSet::intersect(const IntervalSet& other) {
  IntervalSet outside = *this;
  outside.subtract(other);
  subtract(outside);
}

}  // namespace stepscope
