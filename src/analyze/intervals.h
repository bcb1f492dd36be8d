// Sets of times as sorted, disjoint, half-open intervals; all operations are linear sweeps.
//
//   IntervalSet busy;
//   busy.add(0, 10); busy.add(5, 20); busy.add(40, 50);   // any order
//   busy.normalize();                                     // {[0,20), [40,50)}
//   busy.total_ns();                                      // 30
//   busy.unite(other);
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stepscope {

struct Interval {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

class IntervalSet {
 public:
  // Merges with the last interval where they touch, so that adding in order of time costs no
  // memory.
  void add(int64_t begin_ns, int64_t end_ns) {
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
  // Sorts and merges. Needed after adding, before anything else.
  void normalize();
  void unite(const IntervalSet& other);
  void subtract(const IntervalSet& other);
  void intersect(const IntervalSet& other);

  const std::vector<Interval>& intervals() const { return intervals_; }
  bool empty() const { return intervals_.empty(); }
  const Interval* find(int64_t time_ns) const;  // the one that holds it, or null; O(log n)
  bool contains(int64_t time_ns) const { return find(time_ns) != nullptr; }
  int64_t total_ns() const;
  int64_t total_ns_in(const Interval& range) const;  // O(log n + intervals in it)

 private:
  std::vector<Interval> intervals_;
};

// How much of a set lies in each of many ranges, which may overlap: O(log n) for each.
class IntervalTotals {
 public:
  explicit IntervalTotals(const IntervalSet& set);  // which must outlive it
  int64_t ns_in(const Interval& range) const {
    return std::max<int64_t>(0, ns_before(range.end_ns) - ns_before(range.begin_ns));
  }

 private:
  int64_t ns_before(int64_t time_ns) const;

  const std::vector<Interval>& intervals_;
  std::vector<int64_t> before_ns_;  // by interval: what those before it hold
};

}  // namespace stepscope
