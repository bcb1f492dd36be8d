#include <gtest/gtest.h>

#include "advise/hand_made_training.h"

namespace stepscope::dataset_slow_item_test {
namespace {

// Ten items of a batch, each of which calls so many operators of 0.1 ms, in a step of 200 ms.
Findings check(int operators_per_item, int64_t compute_us) {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.next([&] {
        training.mark("fetch", [&] {
          for (int item = 0; item < 10; ++item) {
            training.function("Rows.__getitem__", [&] {
              for (int n = 0; n < operators_per_item; ++n) training.op("aten::add_", 100);
            });
          }
        });
      });
      training.op("aten::mm", compute_us);
    });
  }
  return training.check(check_dataset_slow_item);
}

TEST(DatasetSlowItem, FindsTheLoopInAnItem) {
  const Findings found = check(50, 50'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "dataset-slow-item");
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 Rows.__getitem__");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.475, 0.01);  // 95 % of one half
  EXPECT_EQ(found[0].includes, std::vector<std::string>{"dataloader-in-process"});
}

TEST(DatasetSlowItem, AFewOperatorsAreNoLoop) {
  EXPECT_FALSE(check(16, 16'000).empty());
  EXPECT_TRUE(check(13, 13'000).empty());
}

// A library may make many calls of its own to do one thing.
TEST(DatasetSlowItem, WhatALibraryCallsIsNoLoopOfTheItem) {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.next([&] {
        training.mark("fetch", [&] {
          training.function("Rows.__getitem__", [&] {
            training.python("/usr/lib/python3/site-packages/numpy/fft.py(3): rfft2", [&] {
              for (int n = 0; n < 50; ++n) training.op("aten::add_", 100);
            });
          });
        });
      });
      training.op("aten::mm", 5'000);
    });
  }
  EXPECT_TRUE(training.check(check_dataset_slow_item).empty());
}

TEST(DatasetSlowItem, TheCallerOfTheDataLoaderIsNotItsWork) {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.function("main", [&] {
        training.next([&] {
          training.mark("fetch", [&] {
            for (int n = 0; n < 50; ++n) training.op("aten::select", 100);
          });
        });
        training.op("aten::mm", 5'000);
      });
    });
  }
  EXPECT_TRUE(training.check(check_dataset_slow_item).empty());
}

TEST(DatasetSlowItem, AShortWaitIsNone) { EXPECT_TRUE(check(50, 1'200'000).empty()); }

// As many workers as cores, and the training still waits: the item itself must become cheaper.
TEST(DatasetSlowItem, IsWhatIsLeftWhereAllCoresMakeBatches) {
  const auto check_workers = [](int workers) {
    HandMadeTraining training(2);
    for (int i = 0; i < 12; ++i) {
      training.step([&] {
        training.wait(50'000, i % workers, 90'000);
        training.op("aten::mm", 10'000);
      });
    }
    return training.check(check_dataset_slow_item);
  };
  EXPECT_EQ(check_workers(2).size(), 1u);
  EXPECT_TRUE(check_workers(1).empty());
}

}  // namespace
}  // namespace stepscope::dataset_slow_item_test
