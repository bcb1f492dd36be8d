#include <gtest/gtest.h>

#include "advise/hand_made_training.h"

namespace stepscope {
namespace {

Findings check(int operators, int64_t operator_us) {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.function("experts", [&] {
        for (int n = 0; n < operators; ++n) training.op("aten::add", operator_us);
      });
      training.op("aten::mm", 1'000);
    });
  }
  return training.check(check_dispatch_bound);
}

TEST(DispatchBound, FindsManyTinyOperatorsOfOneFunction) {
  const Findings found = check(200, 5);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 experts");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.425, 0.01);  // 85 % of one half
}

TEST(DispatchBound, FewOrLargeOperatorsAreNone) {
  EXPECT_FALSE(check(100, 14).empty());
  EXPECT_TRUE(check(99, 14).empty());
  EXPECT_TRUE(check(100, 16).empty());
}

}  // namespace
}  // namespace stepscope
