#include <gtest/gtest.h>

#include "advise/hand_made_autograd.h"

namespace stepscope::redundant_copy_test {
namespace {

constexpr int64_t kBytes = 1 << 20;

// A step of 1 ms, of which two copies after each other take 100 us each.
Findings check(int64_t first_bytes, int64_t second_bytes, bool is_dropped,
               bool is_computed = false) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    made.function("forward", [&] {
      made.op_that_takes("aten::to", 100, 0xa, first_bytes);
      if (is_computed) made.op("aten::mul", 1);
      made.op_that_takes("aten::clone", 100, 0xb, second_bytes);
      if (is_dropped) made.give_back(0xa, first_bytes);
    });
    made.op("aten::mm", 800);
  });
  return made.check(check_redundant_copy);
}

TEST(RedundantCopy, FindsACopyOfACopy) {
  const Findings found = check(kBytes, kBytes, true);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 forward");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.1, 0.001);  // one is enough
}

TEST(RedundantCopy, OfATypeAndBackBothAreTooMany) {
  const Findings found = check(2 * kBytes, kBytes, true);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at_stake_fraction, 0.2, 0.001);
}

TEST(RedundantCopy, CopiesOfTwoTensorsAreNone) {
  EXPECT_TRUE(check(kBytes, kBytes, false).empty());
}

TEST(RedundantCopy, CopiesOfOtherSizesAreNone) {
  EXPECT_TRUE(check(3 * kBytes, 2 * kBytes, true).empty());
}

TEST(RedundantCopy, ACopyOfWhatWasComputedIsNone) {
  EXPECT_TRUE(check(kBytes, kBytes, true, true).empty());
}

}  // namespace
}  // namespace stepscope::redundant_copy_test
