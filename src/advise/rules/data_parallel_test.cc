#include <gtest/gtest.h>

#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"

namespace stepscope::data_parallel_test {
namespace {

Trace make(std::string_view scope, bool has_second_gpu) {
  HandMadeGpuLoop loop;
  const TrackId second = loop.made.add_stream(1, 9);
  for (int i = 0; i < 6; ++i) {
    loop.begin_step();
    loop.made.annotation(scope, loop.now_us * 1000, 120'000);
    loop.host(30, "Broadcast").op("aten::mm", "sgemm", 100, 300).synchronize();
    if (has_second_gpu) {
      loop.made.device_work(second, "sgemm", SliceKind::kKernel, (loop.now_us - 200) * 1000,
                            100'000, 1000 + i);
    }
    loop.end_step();
  }
  return loop.made.build();
}

TEST(DataParallel, FiresOnSeveralGpus) {
  const auto finding = find(check_data_parallel, make("DataParallel.forward", true));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(figure(*finding, "GPUs"), 2);
  EXPECT_NEAR(finding->at_stake_fraction, 30. / 388, 0.01);
}

TEST(DataParallel, KeepsQuietOnOneGpu) {
  EXPECT_FALSE(find(check_data_parallel, make("DataParallel.forward", false)));
}

TEST(DataParallel, KeepsQuietOnDistributedDataParallel) {
  EXPECT_FALSE(find(check_data_parallel, make("DistributedDataParallel.forward", true)));
}

}  // namespace
}  // namespace stepscope::data_parallel_test
