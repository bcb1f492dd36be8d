#include <gtest/gtest.h>

#include "advise/advise.h"
#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"

namespace stepscope::launch_bound_test {
namespace {

Trace make(int kernels, int64_t host_us, int64_t kernel_us) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 6; ++i) {
    loop.begin_step();
    for (int k = 0; k < kernels; ++k) loop.op("aten::add", "add_kernel", host_us, kernel_us);
    loop.end_step();
  }
  return loop.made.build();
}

TEST(LaunchBound, FiresWhereShortKernelsWaitForTheirLaunch) {
  const auto finding = find(check_launch_bound, make(200, 20, 4));
  ASSERT_TRUE(finding);
  EXPECT_NEAR(figure(*finding, "kernels that wait for their launch"), 1, 0.01);
  EXPECT_NEAR(finding->at_stake_fraction, 0.8, 0.02);
  EXPECT_EQ(finding->includes, std::vector<std::string>{"gpu-idle"});
}

TEST(LaunchBound, KeepsQuietWhereKernelsFillTheTime) {
  EXPECT_FALSE(find(check_launch_bound, make(200, 20, 12)));
}

TEST(LaunchBound, KeepsQuietWhereKernelsAreLong) {
  EXPECT_FALSE(find(check_launch_bound, make(200, 100, 30)));
}

TEST(LaunchBound, KeepsQuietWhereKernelsAreFew) {
  EXPECT_FALSE(find(check_launch_bound, make(90, 20, 4)));
}

}  // namespace
}  // namespace stepscope::launch_bound_test
