#include <gtest/gtest.h>

#include "advise/hand_made_autograd.h"

namespace stepscope::grad_not_none_test {
namespace {

// A step of 1 ms with so much filling, in zero_grad or elsewhere, and as much adding.
Findings check(int64_t fill_us, bool is_in_zero_grad = true, int64_t bytes = 1000) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    made.scope("Optimizer.zero_grad#SGD.zero_grad", [&] {
      if (is_in_zero_grad) made.op("aten::zero_", fill_us);
    });
    if (!is_in_zero_grad) made.op("aten::zero_", fill_us);
    const auto node = made.forward("aten::addmm", 200);
    made.backward([&] {
      made.node("AddmmBackward0", 800 - 2 * fill_us, node);
      made.accumulate(true, fill_us, bytes);
    });
  });
  return made.check(check_grad_not_none);
}

TEST(GradNotNone, FindsFillingAndAdding) {
  const Findings found = check(100);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at_stake_fraction, 0.2, 0.001);
}

TEST(GradNotNone, ALittleIsNone) {
  EXPECT_FALSE(check(11).empty());
  EXPECT_TRUE(check(9).empty());
}

TEST(GradNotNone, MemoryThatWouldComeFromTheSystemInEachStepIsNone) {
  EXPECT_FALSE(check(100, true, 256 << 10).empty());
  EXPECT_TRUE(check(100, true, (256 << 10) + 1).empty());
  EXPECT_TRUE(check(100, true, (32 << 20) - 1).empty());
  EXPECT_FALSE(check(100, true, 32 << 20).empty());
}

TEST(GradNotNone, FillingOtherTensorsIsNone) { EXPECT_TRUE(check(100, false).empty()); }

}  // namespace
}  // namespace stepscope::grad_not_none_test
