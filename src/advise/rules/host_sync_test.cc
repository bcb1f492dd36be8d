#include <gtest/gtest.h>

#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"

namespace stepscope::host_sync_test {
namespace {

// A step launches 400 us of kernels, may read a value of it, and then takes so long on the host.
Trace make(bool reads, int64_t host_us) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 8; ++i) {
    loop.begin_step().op("aten::mm", "sgemm", 100, 400);
    if (reads) {
      const int64_t begin_us = loop.now_us++;
      loop.synchronize();
      loop.made.op("aten::item", begin_us * 1000, (++loop.now_us - begin_us) * 1000);
    }
    loop.host(host_us).end_step();
  }
  return loop.made.build();
}

TEST(HostSync, FindsThatHostAndDeviceWaitForEachOther) {
  const auto finding = find(check_host_sync, make(true, 300));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, "host-sync");
  EXPECT_NEAR(figure(*finding, "reads per step"), 1, 0.001);
  // 100 + 300 us on the host beside 400 us on the device, in place of one after the other.
  EXPECT_GT(finding->at_stake_fraction, 0.25);
  EXPECT_LT(finding->at_stake_fraction, 0.5);
}

// A condition on a tensor is is_nonzero, which holds item: one read.
TEST(HostSync, ReadsInReadsCountOnce) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 8; ++i) {
    loop.begin_step().op("aten::mm", "sgemm", 100, 400);
    const int64_t begin_us = loop.now_us;
    loop.now_us += 2;
    loop.synchronize();
    loop.now_us += 2;
    loop.made.op("aten::is_nonzero", begin_us * 1000, (loop.now_us - begin_us) * 1000);
    loop.made.op("aten::item", (begin_us + 1) * 1000, (loop.now_us - begin_us - 2) * 1000);
    loop.host(300).end_step();
  }
  const auto finding = find(check_host_sync, loop.made.build());
  ASSERT_TRUE(finding);
  EXPECT_NEAR(figure(*finding, "reads per step"), 1, 0.001);
  EXPECT_LT(figure(*finding, "waiting per step"), 420e3);
}

TEST(HostSync, IsNoneWhereNothingIsRead) { EXPECT_FALSE(find(check_host_sync, make(false, 300))); }

// The device is busy all the time: the host may as well wait.
TEST(HostSync, IsNoneWhereTheDeviceIsBusyAnyway) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 8; ++i) {
    loop.begin_step().op("aten::mm", "sgemm", 10, 4000);
    const int64_t begin_us = loop.now_us++;
    loop.synchronize();
    loop.made.op("aten::item", begin_us * 1000, (++loop.now_us - begin_us) * 1000);
    loop.end_step();
  }
  EXPECT_FALSE(find(check_host_sync, loop.made.build()));
}

}  // namespace
}  // namespace stepscope::host_sync_test
