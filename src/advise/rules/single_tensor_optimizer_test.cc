#include <gtest/gtest.h>

#include <string>

#include "advise/hand_made_autograd.h"

namespace stepscope::single_tensor_optimizer_test {
namespace {

// A step of 1 ms with so many operators of 10 us in the optimizer.
Findings check(std::string_view optimizer, int operators, std::string_view name = "aten::mul_",
               std::string_view elsewhere = "aten::mm") {
  HandMadeAutograd made;
  made.steps(10, [&] {
    made.op(elsewhere, 1'000 - 10 * operators);
    made.scope("Optimizer.step#" + std::string(optimizer) + ".step", [&] {
      for (int i = 0; i < operators; ++i) made.op(name, 10);
    });
  });
  return made.check(check_single_tensor_optimizer);
}

TEST(SingleTensorOptimizer, FindsManySmallOperators) {
  const Findings found = check("Adam", 40);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at_stake_fraction, 0.4 * 0.8, 0.001);
  EXPECT_EQ(found[0].code, "torch.optim.Adam(model.parameters(), ..., fused=True)");
}

TEST(SingleTensorOptimizer, OneThatCanNotBeFusedGetsForeach) {
  const Findings found = check("RMSprop", 40);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at_stake_fraction, 0.4 * 0.4, 0.001);
  EXPECT_EQ(found[0].code, "torch.optim.RMSprop(model.parameters(), ..., foreach=True)");
}

TEST(SingleTensorOptimizer, AShortOneIsNone) {
  EXPECT_FALSE(check("Adam", 21).empty());
  EXPECT_TRUE(check("Adam", 19).empty());
}

TEST(SingleTensorOptimizer, OneOnListsOfTensorsIsNone) {
  EXPECT_TRUE(check("Adam", 40, "aten::_foreach_mul_").empty());
  EXPECT_TRUE(check("Adam", 40, "aten::_fused_adam_").empty());
}

TEST(SingleTensorOptimizer, ListsOfTensorsElsewhereDoNotHideIt) {
  EXPECT_FALSE(check("Adam", 40, "aten::mul_", "aten::_foreach_norm").empty());
}

TEST(SingleTensorOptimizer, OneWithinAnotherIsTheOneToChange) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    made.op("aten::mm", 500);
    made.scope("Optimizer.step#CombinedOptimizer.step", [&] {
      made.op("aten::clone", 100);
      made.scope("Optimizer.step#Adam.step", [&] {
        for (int i = 0; i < 40; ++i) made.op("aten::mul_", 10);
      });
    });
  });
  const Findings found = made.check(check_single_tensor_optimizer);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at_stake_fraction, 0.4 * 0.8, 0.001);
  EXPECT_EQ(found[0].code, "torch.optim.Adam(model.parameters(), ..., fused=True)");
}

TEST(SingleTensorOptimizer, PlainGradientDescentIsNone) { EXPECT_TRUE(check("SGD", 40).empty()); }

}  // namespace
}  // namespace stepscope::single_tensor_optimizer_test
