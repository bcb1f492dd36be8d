#include <gtest/gtest.h>

#include "advise/advise.h"
#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"

namespace stepscope::memory_growth_test {
namespace {

constexpr int64_t kKept = 256 << 10;

// Each step takes 1 MiB and gives it back; some keep more.
template <typename KeptIn>
Trace make(KeptIn kept_in, int steps = 8) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < steps; ++i) {
    loop.begin_step();
    loop.made.python("train.py(12): forward", loop.now_us * 1000, 90'000);
    loop.host(100, "aten::linear");
    const int64_t at_ns = (loop.now_us - 50) * 1000;
    const auto allocate = [&](int64_t time_ns, uint64_t address, int64_t bytes) {
      TraceBuilder::Allocation allocation;
      allocation.time_ns = time_ns;
      allocation.address = address;
      allocation.bytes = bytes;
      loop.made.builder().add_allocation(loop.made.thread(), allocation);
    };
    allocate(at_ns, 1, 1 << 20);
    if (const int64_t bytes = kept_in(i); bytes > 0) allocate(at_ns + 10, 1000 + i, bytes);
    allocate(at_ns + 20, 1, -(1 << 20));
    loop.end_step();
  }
  return loop.made.build();
}

TEST(MemoryGrowth, FiresWhereEachStepKeepsSomething) {
  const Trace trace = make([](int) { return kKept; });
  const auto finding = find(check_memory_growth, trace);
  ASSERT_TRUE(finding);
  EXPECT_EQ(figure(*finding, "growth per step"), kKept);
  EXPECT_EQ(figure(*finding, "taken there and kept"), 8 * kKept);
  EXPECT_EQ(finding->where, "train.py:12 forward");
  EXPECT_EQ(finding->at_stake_fraction, 0);
  const auto advice = Advice::of(trace);
  ASSERT_FALSE(advice->findings.empty());
  EXPECT_EQ(advice->findings.back().id, "memory-growth");
  EXPECT_EQ(advice->findings.back().severity, Severity::kWarning);
}

TEST(MemoryGrowth, IsCriticalWhereItSoonTakesAll) {
  const Trace trace = make([](int) { return int64_t{1} << 20; });
  EXPECT_EQ(find(check_memory_growth, trace)->severity, Severity::kCritical);
}

TEST(MemoryGrowth, KeepsQuietWhereAllIsGivenBack) {
  EXPECT_FALSE(find(check_memory_growth, make([](int) { return int64_t{0}; })));
}

TEST(MemoryGrowth, KeepsQuietWhereItIsLittle) {
  EXPECT_FALSE(find(check_memory_growth, make([](int) { return int64_t{1000}; }, 40)));
}

TEST(MemoryGrowth, KeepsQuietWhereOnlySomeStepsKeepSomething) {
  EXPECT_FALSE(
      find(check_memory_growth, make([](int i) { return i % 2 == 0 ? 4 * kKept : 0; }, 16)));
}

TEST(MemoryGrowth, KeepsQuietWhereOneStepKeepsNearlyAll) {
  EXPECT_FALSE(
      find(check_memory_growth, make([](int i) { return i == 4 ? 64 * kKept : int64_t{64}; })));
}

TEST(MemoryGrowth, KeepsQuietWithFewSteps) {
  EXPECT_FALSE(find(check_memory_growth, make([](int) { return 4 * kKept; }, 5)));
}

}  // namespace
}  // namespace stepscope::memory_growth_test
