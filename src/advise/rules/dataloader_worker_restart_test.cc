#include <gtest/gtest.h>

#include "advise/hand_made_training.h"

namespace stepscope::dataloader_worker_restart_test {
namespace {

// Two epochs of ten steps of 10 ms; making the iterator takes so much each time.
Findings check(int64_t start_us, int epochs = 2) {
  HandMadeTraining training;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (int i = 0; i < 10; ++i) {
      training.step([&] {
        training.wait(100, 0, 5'000);
        training.op("aten::mm", 9'900);
        if (i < 9 && !(epoch == 0 && i == 0)) return;
        training.function("train", [&] {
          training.python(
              "torch/utils/data/dataloader.py(1): _MultiProcessingDataLoaderIter.__init__",
              [&] { training.pass(start_us); });
        });
      });
    }
  }
  return training.check(check_dataloader_worker_restart);
}

TEST(DataloaderWorkerRestart, CountsWhatEpochsPayForIt) {
  const Findings found = check(50'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "dataloader-worker-restart");
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 train");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.34, 0.03);  // 2 x 50 ms beside 19 x 10 ms
}

TEST(DataloaderWorkerRestart, AQuickStartIsNone) { EXPECT_TRUE(check(2'000).empty()); }

}  // namespace
}  // namespace stepscope::dataloader_worker_restart_test
