#include "base/saturating.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Saturating, StaysAtTheEndOfTheRange) {
  EXPECT_EQ(add_saturating(2, 3), 5);
  EXPECT_EQ(add_saturating(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(add_saturating(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(subtract_saturating(2, 3), -1);
  EXPECT_EQ(subtract_saturating(INT64_MIN, 1), INT64_MIN);
  EXPECT_EQ(subtract_saturating(1, INT64_MIN), INT64_MAX);
}

}  // namespace
}  // namespace stepscope
