#include <gtest/gtest.h>

#include "advise/hand_made_gpu_loop.h"
#include "advise/job_rules.h"
#include "advise/rule_for_tests.h"

namespace stepscope::poor_overlap_test {
namespace {

Trace make(int64_t communication_us) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 6; ++i) {
    loop.begin_step()
        .op("aten::mm", "sgemm", 20, 1000)
        .op("nccl:all_reduce", "ncclKernel_AllReduce_RING_LL_Sum_float", 20, communication_us)
        .synchronize()
        .end_step();
  }
  return loop.made.build();
}

TEST(PoorOverlap, FiresOnATraceWhoseCommunicationFollowsTheComputation) {
  const auto finding = find(check_poor_overlap, make(250));
  ASSERT_TRUE(finding);
  EXPECT_NEAR(finding->at_stake_fraction, 0.2, 0.01);
}

TEST(PoorOverlap, KeepsQuietWhereThereIsLittle) {
  EXPECT_FALSE(find(check_poor_overlap, make(40)));
}

}  // namespace
}  // namespace stepscope::poor_overlap_test
