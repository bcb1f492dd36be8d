#include <gtest/gtest.h>

#include <string>

#include "advise/advise.h"
#include "advise/hand_made_gpu_loop.h"
#include "advise/hand_made_training.h"

namespace stepscope {
namespace {

std::vector<std::string> say(double used_cores, double machine_cores, int64_t fetch_us = 0) {
  HandMadeTraining training(2);
  training.count("CPU", "user", used_cores);
  training.count("machine CPU", "busy", machine_cores);
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      if (fetch_us > 0) training.fetch(fetch_us, "load");
      training.op("aten::mm", 1'000);
    });
  }
  const Trace trace = training.made.build();
  return Advice::of(trace)->verdict.lines;
}

TEST(Verdict, AHealthyProgramIsToldWhatBoundsIt) {
  const auto lines = say(1, 1);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].find("A step takes 1 ms (9 steady ones after 1 to warm up) and is bound by"),
            0u)
      << lines[0];
  EXPECT_EQ(lines[1], "Nothing stands out.");
}

TEST(Verdict, TheFindingComesWithItsPlaceAndFix) {
  const auto lines = say(1, 1, 2'000);
  ASSERT_GE(lines.size(), 3u);
  EXPECT_NE(lines[0].find("is bound by input"), std::string::npos) << lines[0];
  EXPECT_EQ(lines[1].find("1. "), 0u);
  EXPECT_NE(lines[1].find("[dataloader-in-process]"), std::string::npos) << lines[1];
  EXPECT_NE(lines[2].find("num_workers"), std::string::npos) << lines[2];
}

TEST(Verdict, WhatNobodyRecordedIsNotTakenForPython) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 3; ++i) {
    loop.begin_step().op("aten::mm", "sgemm", 100, 80);
    loop.now_us += 900;
    loop.end_step();
  }
  const Trace trace = loop.made.build();
  const std::string line = Advice::of(trace)->verdict.lines[0];
  EXPECT_NE(line.find("is bound by what the trace does not show"), std::string::npos) << line;
}

TEST(Verdict, ACopyThatWaitsForTheDeviceIsNoSlowCopy) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 3; ++i) {
    loop.begin_step().op("aten::mm", "sgemm", 20, 900).copy(2).end_step();
  }
  const Trace trace = loop.made.build();
  const std::string line = Advice::of(trace)->verdict.lines[0];
  EXPECT_NE(line.find("is bound by copies that wait for the device"), std::string::npos) << line;
}

TEST(Verdict, ABusyDeviceWhoseLaunchesNobodyRecordedIsNoPython) {
  HandMadeTrace made;
  for (int64_t i = 0; i < 4; ++i) {
    made.step("train#" + std::to_string(i), i * 1000, 1000);
    made.add(made.thread(), "PjitFunction(train_step)", "", SliceKind::kOther, i * 1000 + 10, 50);
    made.kernel("fusion.1", i * 1000 + 50, 900, 0);
  }
  const Trace trace = made.build();
  const std::string line = Advice::of(trace)->verdict.lines[0];
  EXPECT_NE(line.find("is bound by computation: the device works for 90 % of it"),
            std::string::npos)
      << line;
}

TEST(Verdict, OneStepIsOne) {
  HandMadeGpuLoop loop;
  loop.begin_step().op("aten::mm", "sgemm", 100, 300).synchronize().end_step();
  const Trace trace = loop.made.build();
  const std::string line = Advice::of(trace)->verdict.lines[0];
  EXPECT_NE(line.find("(1 steady one)"), std::string::npos) << line;
}

TEST(Verdict, OtherProgramsOnTheMachineAreTold) {
  EXPECT_EQ(say(1, 1.3).size(), 2u);
  const auto lines = say(1, 1.9);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2],
            "Meanwhile other programs kept 0.9 of 2 cores busy: on a quiet machine the times are "
            "shorter.");
}

}  // namespace
}  // namespace stepscope
