#include <gtest/gtest.h>

#include "advise/hand_made_training.h"

namespace stepscope::too_few_threads_test {
namespace {

Findings check(double threads, int64_t operator_us, int cores = 2) {
  HandMadeTraining training(cores);
  training.count("PyTorch threads", "", threads);
  for (int i = 0; i < 10; ++i) {
    training.step([&] { training.op("aten::mm", operator_us); });
  }
  return training.check(check_too_few_threads);
}

TEST(TooFewThreads, LargeOperatorsCouldUseTheOtherCores) {
  const Findings found = check(1, 1'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at_stake_fraction, 1 - 1 / 1.75, 0.01);
}

TEST(TooFewThreads, AllCoresOrSmallOperatorsAreFine) {
  EXPECT_TRUE(check(2, 1'000).empty());
  EXPECT_TRUE(check(1, 300).empty());
  EXPECT_FALSE(check(2, 1'000, 4).empty());
}

}  // namespace
}  // namespace stepscope::too_few_threads_test
