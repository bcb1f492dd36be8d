#include "advise/finding_text.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(FindingText, HasAsManyDigitsAsCount) {
  EXPECT_EQ(in_percent(0.6234), "62 %");
  EXPECT_EQ(in_percent(0.0512), "5.1 %");
  EXPECT_EQ(in_percent(1), "100 %");
  EXPECT_EQ(in_time(81'432'000), "81 ms");
  EXPECT_EQ(in_time(1'234'000'000), "1.2 s");
  EXPECT_EQ(in_time(950), "950 ns");
  EXPECT_EQ(times_less(81'000'000, 34'400'000), "from 81 ms to about 34 ms");
}

}  // namespace
}  // namespace stepscope
