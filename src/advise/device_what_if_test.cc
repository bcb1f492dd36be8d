#include "advise/device_what_if.h"

#include <gtest/gtest.h>

#include "advise/hand_made_gpu_loop.h"

namespace stepscope {
namespace {

// Steps in which the host works and launches, and a kernel that runs longer or shorter than that.
Trace make(int64_t host_us, int64_t kernel_us) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 8; ++i) {
    loop.begin_step().op("aten::mm", "sgemm", 20, kernel_us).host(host_us).synchronize().end_step();
  }
  return loop.made.build();
}

Finding limited(const Trace& trace, double at_stake_fraction) {
  const Case c(trace);
  Findings findings(1);
  findings[0].title = "40 % of each step is spent in augment()";
  findings[0].at_stake_fraction = at_stake_fraction;
  limit_to_host(c, findings);
  return findings[0];
}

TEST(DeviceWhatIf, WhatTheHostDoesWhileADeviceWorksIsNotAtStake) {
  const Finding finding = limited(make(400, 980), 0.4);
  EXPECT_LT(finding.at_stake_fraction, 0.05);
  EXPECT_NE(finding.title.find("the GPU has work meanwhile"), std::string::npos);
}

TEST(DeviceWhatIf, WhatADeviceWaitsForIsAtStake) {
  const Finding finding = limited(make(900, 100), 0.4);
  EXPECT_EQ(finding.at_stake_fraction, 0.4);
  EXPECT_EQ(finding.title, "40 % of each step is spent in augment()");
}

TEST(DeviceWhatIf, WithoutADeviceAllOfItIs) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 8; ++i) loop.begin_step().host(1000).end_step();
  EXPECT_EQ(limited(loop.made.build(), 0.9).at_stake_fraction, 0.9);
}

}  // namespace
}  // namespace stepscope
