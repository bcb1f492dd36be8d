// dataloader-in-process and dataloader-too-few-workers on traces of other tools, which show the
// iterator and nothing of the fetches.
#include <gtest/gtest.h>

#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"

namespace stepscope::foreign_dataloader_test {
namespace {

Trace make(std::string_view iterator, int64_t input_us, int64_t kernel_us = 15'000) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 6; ++i) {
    loop.begin_step()
        .input(input_us, iterator)
        .op("aten::mm", "sgemm", 40'000, kernel_us)
        .end_step();
  }
  return loop.made.build();
}

TEST(ForeignDataLoader, WorksInTheProcess) {
  const Trace trace = make("_SingleProcess", 40'000);
  const auto finding = find(check_dataloader_in_process, trace);
  ASSERT_TRUE(finding);
  EXPECT_NEAR(finding->at_stake_fraction, 0.5, 0.05);
  EXPECT_NEAR(figure(*finding, "input"), 0.5, 0.05);
  EXPECT_FALSE(find(check_dataloader_too_few_workers, trace));
}

TEST(ForeignDataLoader, HasWorkersOfUnknownNumber) {
  const Trace trace = make("_MultiProcessing", 40'000);
  const auto finding = find(check_dataloader_too_few_workers, trace);
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->title.find("the DataLoader's workers"), std::string::npos);
  EXPECT_FALSE(find(check_dataloader_in_process, trace));
}

TEST(ForeignDataLoader, IsQuickEnough) {
  EXPECT_FALSE(find(check_dataloader_in_process, make("_SingleProcess", 1900)));
  EXPECT_FALSE(find(check_dataloader_too_few_workers, make("_MultiProcessing", 1900)));
}

TEST(ForeignDataLoader, IsHiddenByTheDevice) {
  EXPECT_FALSE(find(check_dataloader_in_process, make("_SingleProcess", 20'000, 200'000)));
}

}  // namespace
}  // namespace stepscope::foreign_dataloader_test
