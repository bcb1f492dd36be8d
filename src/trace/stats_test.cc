#include "trace/stats.h"

#include <gtest/gtest.h>

#include <set>

namespace stepscope {
namespace {

TEST(Stats, HasAnotherNameForEveryCount) {
  std::set<std::string_view> names;
  for (int i = 0; i < kStatCount; ++i) names.insert(stat_name(static_cast<Stat>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kStatCount));
  EXPECT_EQ(names.count(""), 0u);
  EXPECT_EQ(stat_name(Stat::kRecordsRecovered), "records_recovered");
}

TEST(Stats, TakesEventsReadAndOpenArrowsForNoFault) {
  Stats stats;
  stats.add(Stat::kEventsRead, 5);
  stats.add(Stat::kFlowsUnbound);
  EXPECT_FALSE(stats.has_faults());
  stats.add(Stat::kEventsSkipped);
  EXPECT_TRUE(stats.has_faults());
}

TEST(Stats, MergesCountsAndKeepsTheFirstNotes) {
  Stats stats;
  Stats other;
  for (size_t i = 0; i < Stats::kMaxNotes - 1; ++i) stats.note("a");
  other.note("b");
  other.note("c");
  other.add(Stat::kBytesLost, 7);
  stats.add(Stat::kBytesLost, 1);
  stats.merge(other);
  EXPECT_EQ(stats.get(Stat::kBytesLost), 8u);
  ASSERT_EQ(stats.notes().size(), Stats::kMaxNotes);
  EXPECT_EQ(stats.notes().back(), "b");
}

}  // namespace
}  // namespace stepscope
