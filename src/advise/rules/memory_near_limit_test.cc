#include <gtest/gtest.h>

#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"

namespace stepscope::memory_near_limit_test {
namespace {

Trace make(int64_t bytes, int64_t limit_bytes) {
  HandMadeGpuLoop loop;
  loop.add_device(8, limit_bytes);
  loop.begin_step().op("aten::mm", "sgemm", 100, 300).end_step();
  loop.made.allocate(1'010'000, bytes, 1, 0);
  loop.made.allocate(1'020'000, -bytes, 1, 0);
  return loop.made.build();
}

TEST(MemoryNearLimit, FiresAboveNineTenths) {
  const auto finding = find(check_memory_near_limit, make(910, 1000));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(finding->at_stake_fraction, 0);
  EXPECT_NEAR(figure(*finding, "of the memory"), 0.91, 1e-9);
}

TEST(MemoryNearLimit, KeepsQuietBelow) {
  EXPECT_FALSE(find(check_memory_near_limit, make(900, 1000)));
}

TEST(MemoryNearLimit, KeepsQuietWhereTheLimitIsUnknown) {
  EXPECT_FALSE(find(check_memory_near_limit, make(900, 0)));
}

}  // namespace
}  // namespace stepscope::memory_near_limit_test
