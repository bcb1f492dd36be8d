#include <gtest/gtest.h>

#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"
#include "analyze/hand_made_loop.h"

namespace stepscope::communication_bound_test {
namespace {

constexpr const char* kAllReduce = "ncclKernel_AllReduce_RING_LL_Sum_float";

Trace make(int64_t communication_us) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 6; ++i) {
    loop.begin_step()
        .op("aten::mm", "sgemm", 20, 1000)
        .op("nccl:all_reduce", kAllReduce, 20, communication_us)
        .synchronize()
        .end_step();
  }
  return loop.made.build();
}

TEST(CommunicationBound, FiresAboveATenthOfTheStep) {
  const auto finding = find(check_communication_bound, make(250));
  ASSERT_TRUE(finding);
  EXPECT_NEAR(figure(*finding, "communication"), 0.2, 0.01);
  EXPECT_NEAR(finding->at_stake_fraction, 0.2, 0.01);
}

TEST(CommunicationBound, KeepsQuietBelow) {
  EXPECT_FALSE(find(check_communication_bound, make(90)));
}

TEST(CommunicationBound, FiresOnTheCpuToo) {
  HandMadeLoop loop;
  for (int i = 0; i < 8; ++i) loop.forward().backward().op("gloo:all_reduce", 100).optimize();
  const auto finding = find(check_communication_bound, loop.made.build());
  ASSERT_TRUE(finding);
  EXPECT_NEAR(finding->at_stake_fraction, 100. / 300, 0.02);
}

}  // namespace
}  // namespace stepscope::communication_bound_test
