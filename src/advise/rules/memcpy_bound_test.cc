#include <gtest/gtest.h>

#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"

namespace stepscope::memcpy_bound_test {
namespace {

Trace make(int64_t copy_us) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 6; ++i) {
    loop.begin_step().copy(copy_us).op("aten::mm", "sgemm", 20, 1000).synchronize().end_step();
  }
  return loop.made.build();
}

TEST(MemcpyBound, FiresWhereCopiesKeepTheGpuWaiting) {
  const auto finding = find(check_memcpy_bound, make(250));
  ASSERT_TRUE(finding);
  EXPECT_NEAR(figure(*finding, "copies alone"), 0.2, 0.01);
  EXPECT_NEAR(finding->at_stake_fraction, 0.2, 0.01);
}

TEST(MemcpyBound, PageableMemoryIsToBePinned) {
  const auto finding = find(check_memcpy_bound, make(250));
  ASSERT_TRUE(finding);
  EXPECT_EQ(figure(*finding, "from or to pageable memory"), 1);
  EXPECT_NE(finding->code.find("pin_memory=True"), std::string::npos);
}

TEST(MemcpyBound, PinnedMemoryIsToBeCopiedMeanwhile) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 6; ++i) {
    loop.begin_step()
        .op("aten::copy_", "Memcpy HtoD (Pinned -> Device)", 10, 250, SliceKind::kMemcpy)
        .op("aten::mm", "sgemm", 20, 1000)
        .synchronize()
        .end_step();
  }
  const auto finding = find(check_memcpy_bound, loop.made.build());
  ASSERT_TRUE(finding);
  EXPECT_EQ(figure(*finding, "from or to pageable memory"), 0);
  EXPECT_EQ(finding->code.find("pin_memory=True"), std::string::npos);
}

TEST(MemcpyBound, KeepsQuietWhereTheyAreShort) { EXPECT_FALSE(find(check_memcpy_bound, make(45))); }

TEST(MemcpyBound, KeepsQuietWhereTheyAreHidden) {
  HandMadeGpuLoop loop;
  const TrackId copies = loop.made.add_stream(0, 21);
  for (int i = 0; i < 6; ++i) {
    loop.begin_step().op("aten::mm", "sgemm", 20, 1000).synchronize();
    loop.made.device_work(copies, "Memcpy HtoD (Pinned -> Device)", SliceKind::kMemcpy,
                          (loop.now_us - 900) * 1000, 500'000, 100'000 + i);
    loop.end_step();
  }
  EXPECT_FALSE(find(check_memcpy_bound, loop.made.build()));
}

}  // namespace
}  // namespace stepscope::memcpy_bound_test
