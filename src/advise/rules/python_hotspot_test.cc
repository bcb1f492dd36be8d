#include <gtest/gtest.h>

#include "advise/hand_made_training.h"

namespace stepscope::python_hotspot_test {
namespace {

Findings check(int64_t hot_us) {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.op("aten::mm", 10'000 - hot_us);
      training.function("confusion", [&] { training.pass(hot_us); });
    });
  }
  return training.check(check_python_hotspot);
}

TEST(PythonHotspot, NamesTheFunction) {
  const Findings found = check(4'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 confusion");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.38, 0.001);
}

TEST(PythonHotspot, ATenthOfAStepIsOne) {
  EXPECT_FALSE(check(1'010).empty());
  EXPECT_TRUE(check(990).empty());
}

TEST(PythonHotspot, OperatorsAndTorchsOwnCodeAreNoPython) {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.function("train_step", [&] {
        training.op("aten::mm", 5'000);
        training.python("torch/optim/sgd.py(1): SGD.step", [&] { training.pass(5'000); });
      });
    });
  }
  EXPECT_TRUE(training.check(check_python_hotspot).empty());
}

TEST(PythonHotspot, WhatRunsWithoutTheGlobalLockIsNoPython) {
  const auto check_with_lock = [](double held) {
    HandMadeTraining training;
    for (int i = 0; i < 10; ++i) {
      training.step([&] {
        training.count("global lock", "held", held);
        training.function("train_step", [&] { training.pass(20'000); });
      });
    }
    return training.check(check_python_hotspot);
  };
  EXPECT_TRUE(check_with_lock(0).empty());
  EXPECT_NEAR(check_with_lock(0.5).at(0).at_stake_fraction, 0.5 * 0.95, 0.03);
  EXPECT_NEAR(check_with_lock(1).at(0).at_stake_fraction, 0.95, 0.001);
}

TEST(PythonHotspot, LibrariesCountForTheFunctionThatCallsThem) {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.op("aten::mm", 5'000);
      training.function("log", [&] {
        training.python("/usr/lib/python3.11/json/encoder.py(1): encode",
                        [&] { training.pass(5'000); });
      });
    });
  }
  const Findings found = training.check(check_python_hotspot);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 log");
}

}  // namespace
}  // namespace stepscope::python_hotspot_test
