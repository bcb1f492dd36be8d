#include "analyze/job.h"

#include <gtest/gtest.h>

#include "analyze/job_diff.h"
#include "analyze/job_for_tests.h"

namespace stepscope {
namespace {

TEST(JobClocks, AreAlignedByCollectives) {
  HandMadeJob made(4);
  made.rank(1).offset_us = 50'000;
  made.rank(2).offset_us = -31'415;
  const Job job = made.build();
  EXPECT_EQ(job.ranks[0].clock_offset_ns, 0);
  EXPECT_EQ(job.ranks[1].clock_offset_ns, 50'000'000);
  EXPECT_EQ(job.ranks[2].clock_offset_ns, -31'415'000);
  EXPECT_EQ(job.ranks[2].clock_error_ns, 0);
}

TEST(JobClocks, AreAlignedByTheOrderOfCollectivesWithoutNumbers) {
  HandMadeJob made(3);
  made.has_sequence = false;
  made.rank(2).offset_us = 7000;
  const Job job = made.build();
  EXPECT_EQ(job.collectives.size(), 6u);
  EXPECT_EQ(job.ranks[2].clock_offset_ns, 7'000'000);
}

TEST(JobMatching, FindsTheShiftWhereARankLacksItsFirstCollectives) {
  HandMadeJob made(3, 8);
  made.has_sequence = false;
  made.rank(0).more_us = {0, 700, 100, 2500, 300, 50, 1200, 900};  // no two steps are alike
  made.rank(2).skipped_calls = 2;
  made.rank(2).offset_us = 4000;
  const Job job = made.build();
  EXPECT_EQ(job.ranks[2].clock_offset_ns, 4'000'000);
  EXPECT_EQ(job.ranks[2].clock_calls, 6u);
}

TEST(JobClocks, RanksThatNeverMeetAreSaidToBeUnaligned) {
  HandMadeJob made(3);
  std::vector<RankSummary> summaries = made.make();
  summaries[2].calls.clear();
  const Job job = Job::build(std::move(summaries), {});
  EXPECT_FALSE(job.ranks[2].clock_offset_ns.has_value());
  EXPECT_NE(job.notes.back().find("ranks 2 are not aligned"), std::string::npos);
}

TEST(JobStragglers, OneThatLoadsSlowlyIsFoundWithItsCause) {
  HandMadeJob made(8);
  made.rank(5).input_us = 4000;
  const Job job = made.build();
  ASSERT_EQ(list_stragglers(job), std::vector<uint32_t>{5});
  EXPECT_EQ(job.ranks[5].cause, StragglerCause::kInput);
  EXPECT_NEAR(job.ranks[5].excess_ns, 3e6, 1);
  EXPECT_NEAR(job.ranks[0].times.wait_ns, 3e6, 1);
  EXPECT_NEAR(job.ranks[5].times.wait_ns, 0, 1);
}

TEST(JobStragglers, OfTwoRanksTheSlowerOneIsFound) {
  HandMadeJob made(2);
  made.rank(0).host_us = 2000;
  const Job job = made.build();
  ASSERT_EQ(list_stragglers(job), std::vector<uint32_t>{0});
  EXPECT_EQ(job.ranks[0].cause, StragglerCause::kHost);
}

TEST(JobStragglers, ASlowKernelIsToldFromALowClock) {
  HandMadeJob made(8);
  made.rank(3).kernel_us = {8000, 2000, 1000, 1000};
  made.rank(6).kernel_us = {5600, 2800, 1400, 1400};
  const Job job = made.build();
  ASSERT_EQ(list_stragglers(job), (std::vector<uint32_t>{3, 6}));
  EXPECT_EQ(job.ranks[3].cause, StragglerCause::kSlowKernel);
  EXPECT_EQ(job.ranks[3].cause_detail, "a: 2.00 times as long as on other ranks");
  EXPECT_EQ(job.ranks[6].cause, StragglerCause::kThrottling);
}

TEST(JobStragglers, MoreKernelsAreMoreWork) {
  HandMadeJob made(8);
  made.rank(3).kernel_us = {6000, 3000, 1500, 1500};
  made.rank(3).calls = 15;
  EXPECT_EQ(made.build().ranks[3].cause, StragglerCause::kMoreWork);
}

TEST(JobStragglers, AHealthyJobHasNone) {
  HandMadeJob made(8);
  made.rank(3).kernel_us = {4100, 2000, 1000, 1000};
  const Job job = made.build();
  EXPECT_TRUE(list_stragglers(job).empty());
  EXPECT_LT(job.imbalance.loss_ns, 0.05 * job.step_ns);
}

TEST(JobImbalance, WorkThatIsHeavyNowHereAndNowThereMakesNoStraggler) {
  HandMadeJob made(6);
  for (size_t r = 0; r < 6; ++r) {
    std::vector<int64_t> more(6, 0);
    more[r] = 3000;
    made.rank(r).more_us = more;
  }
  const Job job = made.build();
  EXPECT_TRUE(list_stragglers(job).empty());
  EXPECT_NEAR(job.imbalance.loss_ns, 2.5e6, 1);  // 3 ms less the mean of 0.5 ms
  EXPECT_EQ(job.imbalance.where, "compute");
}

TEST(Job, MissingRanksAreNamed) {
  HandMadeJob made(6);
  made.rank(2).is_left_out = made.rank(3).is_left_out = made.rank(4).is_left_out = true;
  const Job job = made.build();
  EXPECT_EQ(text_of_ranks(job.missing), "2-4");
  EXPECT_EQ(job.ranks.size(), 3u);
}

TEST(Job, ASecondTraceOfARankIsLeftOutAndSaid) {
  std::vector<RankSummary> summaries = HandMadeJob(2).make();
  summaries.push_back(summaries[1]);
  const Job job = Job::build(std::move(summaries), {});
  EXPECT_EQ(job.ranks.size(), 2u);
  EXPECT_NE(job.notes.front().find("a second trace of rank 1"), std::string::npos);
}

TEST(Job, WhatIsNoTrainingIsNamedInOneNote) {
  std::vector<RankSummary> summaries = HandMadeJob(2).make();
  for (const char* source : {"launcher", "worker-1", "worker-2", "worker-3"}) {
    summaries.push_back({.source = source});
  }
  const Job job = Job::build(std::move(summaries), {});
  EXPECT_EQ(job.ranks.size(), 2u);
  EXPECT_EQ(
      job.notes.front(),
      "neither steps nor collectives, taken for no rank: launcher, worker-1, worker-2, … (4)");
}

TEST(JobTables, StepsAddUpToTheirParts) {
  HandMadeJob made(4);
  made.rank(1).input_us = 3000;
  const Table table = make_ranks_table(made.build());
  for (size_t row = 0; row < table.rows(); ++row) {
    const auto get = [&](const char* name) { return table.find(name)->get_int(row); };
    EXPECT_EQ(get("step_ns"), get("compute_ns") + get("communication_ns") - get("overlap_ns") +
                                  get("copy_ns") + get("idle_ns"));
  }
  EXPECT_EQ(table.find("straggler")->get_int(1), 1);
}

TEST(JobTables, BusBandwidthIsOfTheTransferAlone) {
  HandMadeJob made(4);
  made.rank(1).input_us = 3000;  // others wait 2 ms in it: that is no transfer
  const Table table = make_collectives_table(made.build(), false);
  ASSERT_EQ(table.rows(), 1u);
  EXPECT_EQ(table.find("transfer_ns")->get_int(0), 500'000);
  EXPECT_EQ(table.find("bus_bytes_per_s")->get_int(0), 12'000'000'000);  // 4 MB * 1.5 / 0.5 ms
  EXPECT_EQ(table.find("skew_ns")->get_int(0), 2'000'000);
  EXPECT_EQ(table.find("wait_ns")->get_int(0), 1'500'000);
  EXPECT_EQ(table.find("last_rank")->get_int(0), 1);
}

TEST(JobTables, GroupsAreNamedByTheirParallelism) {
  std::vector<RankSummary> summaries = HandMadeJob(4).make();
  for (RankSummary& summary : summaries) {
    summary.groups[0].description = "TENSOR_MODEL_PARALLEL_GROUP";
  }
  const Table table = make_groups_table(Job::build(std::move(summaries), {}));
  EXPECT_EQ(table.find("parallelism")->get_string(0), "tensor");
}

TEST(JobDiff, TellsTheKernelAndTheRankThatChanged) {
  HandMadeJob made(4);
  const Job before = made.build();
  made.rank(2).kernel_us[1] = 5000;
  const auto diff = compare_jobs(before, made.build(), {});
  ASSERT_TRUE(diff);
  bool has_kernel = false;
  bool has_rank = false;
  const Table& table = diff->table;
  for (size_t row = 0; row < table.rows(); ++row) {
    const std::string& section = table.find("section")->get_string(row);
    const std::string& name = table.find("name")->get_string(row);
    const int64_t change = table.find("change_ns")->get_int(row);
    if (section == "kernels") {
      has_kernel = true;
      EXPECT_EQ(name, "b");
      EXPECT_EQ(change, 750'000);  // 3 ms on one of four ranks
    }
    if (section == "ranks") {
      has_rank = true;
      EXPECT_EQ(name, "rank 2");
      EXPECT_EQ(change, 3'000'000);
    }
  }
  EXPECT_TRUE(has_kernel);
  EXPECT_TRUE(has_rank);
}

}  // namespace
}  // namespace stepscope
