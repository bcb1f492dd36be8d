#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "advise/advise.h"
#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"

namespace stepscope::gpu_idle_test {
namespace {

// Ten kernels of kernel_us in a step, each launched by an operator of 100 us.
Trace make(int64_t kernel_us, int64_t input_us = 0) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 6; ++i) {
    loop.begin_step();
    if (input_us > 0) loop.input(input_us);
    for (int k = 0; k < 10; ++k) loop.op("aten::add", "add_kernel", 100, kernel_us);
    loop.end_step();
  }
  return loop.made.build();
}

TEST(GpuIdle, FiresBelowHalf) {
  const auto finding = find(check_gpu_idle, make(40));
  ASSERT_TRUE(finding);
  EXPECT_NEAR(figure(*finding, "GPU utilisation"), 0.4, 0.02);
  EXPECT_NEAR(finding->at_stake_fraction, 0.6, 0.02);
}

TEST(GpuIdle, SaysThatTheHostIsWaitedFor) {
  const auto finding = find(check_gpu_idle, make(40));
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->title.find("waits for the host's launches"), std::string::npos);
  EXPECT_NEAR(figure(*finding, "waiting for the host per step"), 600e3, 60e3);
  EXPECT_EQ(figure(*finding, "waiting for something else per step"), 0);
}

// Everything is launched at once, and each kernel begins long after the one before it ended.
TEST(GpuIdle, SaysThatWorkWaitsForSomethingElse) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 6; ++i) {
    loop.begin_step();
    for (int k = 0; k < 10; ++k) {
      loop.op("aten::add", "add_kernel", 10, 40);
      loop.stream_free_us += 60;
    }
    loop.synchronize().end_step();
  }
  const Trace trace = loop.made.build();
  const auto finding = find(check_gpu_idle, trace);
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->title.find("launched and waited"), std::string::npos);
  // No faster host saves anything: it is told nevertheless.
  const Findings& told = Advice::of(trace)->findings;
  EXPECT_TRUE(
      std::any_of(told.begin(), told.end(), [](const Finding& of) { return of.id == "gpu-idle"; }));
  EXPECT_GT(figure(*finding, "waiting for something else per step"),
            figure(*finding, "waiting for the host per step"));
  EXPECT_EQ(finding->code, "");
}

TEST(GpuIdle, KeepsQuietOfADeviceWhoseLaunchesNobodyRecorded) {
  HandMadeTrace made;
  for (int64_t i = 0; i < 6; ++i) {
    made.step("train#" + std::to_string(i), i * 1'000'000, 1'000'000);
    for (int64_t k = 0; k < 10; ++k) made.kernel("fusion", i * 1'000'000 + k * 100'000, 40'000, 0);
  }
  const Trace trace = made.build();
  for (const Finding& finding : Advice::of(trace)->findings) EXPECT_NE(finding.id, "gpu-idle");
}

TEST(GpuIdle, KeepsQuietAboveHalf) { EXPECT_FALSE(find(check_gpu_idle, make(60))); }

TEST(GpuIdle, KeepsQuietWithoutAGpu) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 6; ++i) loop.begin_step().host(1000).end_step();
  EXPECT_FALSE(find(check_gpu_idle, loop.made.build()));
}

TEST(GpuIdle, IsPartOfTheFindingAboutInputWhereThatIsWhy) {
  const Trace trace = make(80, 2000);
  ASSERT_TRUE(find(check_gpu_idle, trace));
  const auto advice = Advice::of(trace);
  ASSERT_FALSE(advice->findings.empty());
  EXPECT_EQ(advice->findings.front().id, "dataloader-in-process");
  for (const Finding& finding : advice->findings) EXPECT_NE(finding.id, "gpu-idle");
}

}  // namespace
}  // namespace stepscope::gpu_idle_test
