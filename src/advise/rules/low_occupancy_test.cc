#include <gtest/gtest.h>

#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"

namespace stepscope::low_occupancy_test {
namespace {

Trace make(double blocks_per_sm) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 6; ++i) {
    loop.begin_step().op("aten::mm", "sgemm", 20, 1000);
    loop.made.set_double(loop.last_kernel, "blocks per SM", blocks_per_sm);
    loop.made.set_int(loop.last_kernel, "est. achieved occupancy %", 25);
    loop.synchronize().end_step();
  }
  return loop.made.build();
}

TEST(LowOccupancy, FiresWhereKernelsHaveFewBlocks) {
  const auto finding = find(check_low_occupancy, make(0.4));
  ASSERT_TRUE(finding);
  EXPECT_NEAR(figure(*finding, "kernel time with few blocks"), 1, 0.001);
  EXPECT_NEAR(finding->at_stake_fraction, 0.59, 0.02);
  EXPECT_NEAR(figure(*finding, "achieved occupancy"), 0.25, 0.001);
}

TEST(LowOccupancy, KeepsQuietWhereTheyHaveMore) {
  EXPECT_FALSE(find(check_low_occupancy, make(0.6)));
}

TEST(LowOccupancy, KeepsQuietWhereTheTraceDoesNotSay) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 6; ++i) {
    loop.begin_step().op("aten::mm", "sgemm", 20, 1000).synchronize().end_step();
  }
  EXPECT_FALSE(find(check_low_occupancy, loop.made.build()));
}

}  // namespace
}  // namespace stepscope::low_occupancy_test
