#include <gtest/gtest.h>

#include "advise/hand_made_training.h"

namespace stepscope::thread_oversubscription_test {
namespace {

Findings check(double threads) {
  HandMadeTraining training(2);
  training.count("PyTorch threads", "", threads);
  for (int i = 0; i < 10; ++i) {
    training.step([&] { training.op("aten::mm", 1'000); });
  }
  return training.check(check_thread_oversubscription);
}

TEST(ThreadOversubscription, MoreThreadsThanCoresWaitForEachOther) {
  const Findings found = check(16);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "thread-oversubscription");
  EXPECT_TRUE(check(2).empty());
  EXPECT_TRUE(check(2.9).empty());
}

}  // namespace
}  // namespace stepscope::thread_oversubscription_test
