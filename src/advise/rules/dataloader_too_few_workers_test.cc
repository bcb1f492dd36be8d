#include <gtest/gtest.h>

#include "advise/hand_made_training.h"

namespace stepscope::dataloader_too_few_workers_test {
namespace {

Findings check(int workers, int64_t wait_us) {
  HandMadeTraining training(4);
  for (int i = 0; i < 12; ++i) {
    training.step([&] {
      training.wait(wait_us, i % workers, 90'000);
      training.op("aten::mm", 100'000 - wait_us);
    });
  }
  return training.check(check_dataloader_too_few_workers);
}

TEST(DataloaderTooFewWorkers, FindsCoresThatCouldMakeBatches) {
  const Findings found = check(1, 50'000);
  ASSERT_EQ(found.size(), 1u);
  // A batch in 90 ms is hidden behind 50 ms of computing by two workers or more.
  EXPECT_NEAR(found[0].at_stake_fraction, 0.5, 0.02);
  EXPECT_EQ(found[0].where, "/home/me/data.py:3 Pictures.__getitem__");
}

TEST(DataloaderTooFewWorkers, AsManyAsCoresAreEnough) { EXPECT_TRUE(check(4, 50'000).empty()); }

TEST(DataloaderTooFewWorkers, AShortWaitIsNone) {
  EXPECT_FALSE(check(1, 6'000).empty());
  EXPECT_TRUE(check(1, 4'000).empty());
}

}  // namespace
}  // namespace stepscope::dataloader_too_few_workers_test
