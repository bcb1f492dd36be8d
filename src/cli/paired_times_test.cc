#include "cli/paired_times.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace stepscope::cli {
namespace {

PairedTimes make(size_t pairs, double second_s) {
  PairedTimes times;
  for (size_t i = 0; i < pairs; ++i) times.add(1, second_s + 0.01 * static_cast<double>(i));
  return times;
}

TEST(PairedTimes, RatioIsTheMedianOfThePairs) {
  PairedTimes times;
  times.add(1, 0.5);
  times.add(10, 6);  // a slow minute, for both
  times.add(1, 0.7);
  EXPECT_DOUBLE_EQ(times.ratio(), 0.6);
  EXPECT_DOUBLE_EQ(times.first_s(), 1);
}

TEST(PairedTimes, FewPairsAreNotCertain) {
  EXPECT_FALSE(make(5, 0.5).is_certain());
  EXPECT_FALSE(make(5, 0.5).is_different());
  EXPECT_TRUE(make(6, 0.5).is_different());
}

// Binomial: with 8 pairs the extremes are left in (P = 2/256 < 1/40, with one more 9/256 > 1/40).
TEST(PairedTimes, IntervalLeavesOutAsManyAsChanceAllows) {
  const auto [low, high] = make(8, 0.5).interval();
  EXPECT_DOUBLE_EQ(low, 0.5);
  EXPECT_DOUBLE_EQ(high, 0.57);
  const auto [low_of_nine, high_of_nine] = make(9, 0.5).interval();
  EXPECT_DOUBLE_EQ(low_of_nine, 0.51);
  EXPECT_DOUBLE_EQ(high_of_nine, 0.57);
}

TEST(PairedTimes, AnIntervalWithOneInItTellsNothing) {
  PairedTimes times;
  for (const double second : {0.9, 1.1, 0.95, 1.05, 0.99, 1.02, 0.97}) times.add(1, second);
  EXPECT_FALSE(times.is_different());
}

// Of many sets of pairs whose true ratio is 1, few may be called different.
TEST(PairedTimes, IntervalHoldsTheTruthInNineteenOfTwentyCases) {
  uint32_t state = 7;
  const auto noise = [&state] {
    state = state * 1664525u + 1013904223u;
    return 1 + 0.2 * (static_cast<double>(state >> 8) / (1 << 24));
  };
  int wrong = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    PairedTimes times;
    for (int i = 0; i < 10; ++i) times.add(noise(), noise());
    wrong += times.is_different();
  }
  EXPECT_LT(wrong, 2000 * 0.06);
}

}  // namespace
}  // namespace stepscope::cli
