#include <gtest/gtest.h>

#include "advise/hand_made_training.h"

namespace stepscope::dataloader_in_process_test {
namespace {

Findings check(int64_t fetch_us, int64_t compute_us, int cores = 2) {
  HandMadeTraining training(cores);
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.fetch(fetch_us, "load");
      training.op("aten::mm", compute_us);
    });
  }
  return training.check(check_dataloader_in_process);
}

// 60 ms and 40 ms: on two cores both together take no less than 50 ms.
TEST(DataloaderInProcess, SaysWhatTheStepTakesWithWorkers) {
  const Findings found = check(60'000, 40'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "dataloader-in-process");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.5, 0.01);
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 load");
  EXPECT_NE(found[0].title.find("60 %"), std::string::npos) << found[0].title;
  EXPECT_NE(found[0].title.find("from 100 ms to about 50 ms"), std::string::npos);
}

TEST(DataloaderInProcess, ManyCoresHideAllButTheComputing) {
  EXPECT_NEAR(check(60'000, 40'000, 8)[0].at_stake_fraction, 0.597, 0.01);
}

// Both cores are busy. Once all of it is this program; once it is half of a core, and others would
// give way to workers no more than half way.
TEST(DataloaderInProcess, CoresOfOtherProgramsAreNotFree) {
  const auto at_stake = [](double used_cores) {
    HandMadeTraining training(2);
    for (int i = 0; i < 10; ++i) {
      training.count("core 0", "", 1);
      training.count("core 1", "", 1);
      training.count("CPU", "user", used_cores);
      training.count("CPU", "system", 0);
      training.count("machine CPU", "busy", 2);
      training.step([&] {
        training.fetch(60'000, "load");
        training.op("aten::mm", 40'000);
      });
    }
    return training.check(check_dataloader_in_process)[0].at_stake_fraction;
  };
  EXPECT_NEAR(at_stake(2), 0.3, 0.1);
  EXPECT_NEAR(at_stake(0.5), 0.2, 0.02);
}

TEST(DataloaderInProcess, AShortWaitIsNone) {
  EXPECT_FALSE(check(6'000, 94'000).empty());
  EXPECT_TRUE(check(4'000, 96'000).empty());
}

TEST(DataloaderInProcess, WorkersAreNotInProcess) {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.wait(60'000, 0, 90'000);
      training.op("aten::mm", 40'000);
    });
  }
  EXPECT_TRUE(training.check(check_dataloader_in_process).empty());
}

}  // namespace
}  // namespace stepscope::dataloader_in_process_test
