#include "analyze/intervals.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

IntervalSet make(std::initializer_list<Interval> intervals) {
  IntervalSet set;
  for (const Interval& interval : intervals) set.add(interval.begin_ns, interval.end_ns);
  set.normalize();
  return set;
}

TEST(IntervalSet, MergesWhatOverlapsOrTouchesInAnyOrder) {
  const IntervalSet set = make({{40, 50}, {0, 10}, {5, 20}, {20, 25}, {7, 7}});
  EXPECT_EQ(set.intervals(), (std::vector<Interval>{{0, 25}, {40, 50}}));
  EXPECT_EQ(set.total_ns(), 35);
}

TEST(IntervalSet, TotalInARangeClipsBothEnds) {
  const IntervalSet set = make({{0, 10}, {20, 30}, {40, 50}});
  EXPECT_EQ(set.total_ns_in({5, 45}), 5 + 10 + 5);
  EXPECT_EQ(set.total_ns_in({10, 20}), 0);
}

TEST(IntervalSet, UniteHoldsWhatEitherHolds) {
  IntervalSet set = make({{0, 100}, {200, 300}, {600, 700}});
  set.unite(make({{10, 20}, {50, 250}, {300, 310}, {400, 500}}));
  EXPECT_EQ(set.intervals(), (std::vector<Interval>{{0, 310}, {400, 500}, {600, 700}}));
}

TEST(IntervalSet, UniteWithNothingChangesNothing) {
  IntervalSet set = make({{0, 100}});
  set.unite({});
  EXPECT_EQ(set.total_ns(), 100);
  IntervalSet nothing;
  nothing.unite(set);
  EXPECT_EQ(nothing.total_ns(), 100);
}

TEST(IntervalTotals, AreThoseOfTheSetForEveryRange) {
  const IntervalSet set = make({{0, 10}, {20, 30}, {40, 50}});
  const IntervalTotals totals(set);
  for (int64_t begin_ns = -2; begin_ns < 54; ++begin_ns) {
    for (int64_t end_ns = begin_ns; end_ns < 54; ++end_ns) {
      EXPECT_EQ(totals.ns_in({begin_ns, end_ns}), set.total_ns_in({begin_ns, end_ns}));
    }
  }
}

TEST(IntervalSet, SubtractLeavesWhatTheOtherDoesNotHold) {
  IntervalSet set = make({{0, 100}, {200, 300}, {400, 500}, {600, 700}});
  set.subtract(make({{10, 20}, {50, 250}, {290, 410}, {600, 700}}));
  EXPECT_EQ(set.intervals(), (std::vector<Interval>{{0, 10}, {20, 50}, {250, 290}, {410, 500}}));
}

TEST(IntervalSet, IntersectLeavesWhatBothHold) {
  IntervalSet set = make({{0, 100}, {200, 300}, {600, 700}});
  set.intersect(make({{10, 20}, {50, 250}, {290, 410}, {500, 800}}));
  EXPECT_EQ(set.intervals(),
            (std::vector<Interval>{{10, 20}, {50, 100}, {200, 250}, {290, 300}, {600, 700}}));
}

TEST(IntervalSet, ContainsTheBeginOfAnIntervalAndNotItsEnd) {
  const IntervalSet set = make({{10, 20}, {30, 40}});
  EXPECT_FALSE(set.contains(9));
  EXPECT_TRUE(set.contains(10));
  EXPECT_FALSE(set.contains(20));
  EXPECT_TRUE(set.contains(39));
  EXPECT_FALSE(set.contains(INT64_MAX));
}

}  // namespace
}  // namespace stepscope
