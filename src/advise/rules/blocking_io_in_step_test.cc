#include <gtest/gtest.h>

#include "advise/hand_made_training.h"

namespace stepscope::blocking_io_in_step_test {
namespace {

Findings check_checkpoint(int64_t save_us) {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.op("aten::mm", 10'000 - save_us);
      training.function("save",
                        [&] { training.mark("checkpoint", [&] { training.pass(save_us); }); });
    });
  }
  return training.check(check_blocking_io_in_step);
}

TEST(BlockingIoInStep, FindsCheckpoints) {
  const Findings found = check_checkpoint(3'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 save");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.3, 0.001);
  EXPECT_TRUE(check_checkpoint(400).empty());
}

// A function takes 3 of 10 ms; the counters say how busy the program and the machine were.
Findings check_wait(double used_cores, double machine_cores) {
  HandMadeTraining training(2);
  training.count("CPU", "user", used_cores);
  training.count("CPU", "system", 0);
  training.count("machine CPU", "busy", machine_cores);
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.op("aten::mm", 700);
      training.function("send", [&] { training.pass(300); });
    });
  }
  return training.check(check_blocking_io_in_step);
}

TEST(BlockingIoInStep, IsToldFromWorkByTheUseOfTheCpu) {
  const Findings found = check_wait(0.72, 0.9);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 send");
  EXPECT_TRUE(check_wait(0.9, 1).empty()) << "most of it was work";
}

TEST(BlockingIoInStep, ABusyMachineTellsNothing) { EXPECT_TRUE(check_wait(0.72, 1.95).empty()); }

// The same, where the first thread's own times are known. It need not be the one that trains.
Findings check_thread(double running, double queued, double written = 0, bool is_first = true) {
  HandMadeTraining training(2, is_first ? 1 : 2);
  training.count("CPU", "user", 1.9);
  training.count("CPU", "system", 0.1);
  training.count("disk", "write", written);
  training.count("machine CPU", "busy", 2);
  training.count("first thread", "running", running);
  training.count("first thread", "queued", queued);
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.op("aten::mm", 700);
      training.function("send", [&] { training.pass(300); });
    });
  }
  return training.check(check_blocking_io_in_step);
}

TEST(BlockingIoInStep, TheThreadsOwnTimesTellIt) {
  EXPECT_EQ(check_thread(0.75, 0).size(), 1u) << "whatever other threads did";
  EXPECT_TRUE(check_thread(0.75, 0.2).empty()) << "it waited for a core";
  EXPECT_EQ(check_thread(0.92, 0, 1e6).size(), 1u) << "the system worked for the disk";
  EXPECT_TRUE(check_thread(0.92, 0, 1e3).empty());
  EXPECT_TRUE(check_thread(0, 0, 0, false).empty()) << "another thread waited for this one";
}

}  // namespace
}  // namespace stepscope::blocking_io_in_step_test
