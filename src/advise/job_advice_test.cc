#include "advise/job_advice.h"

#include <gtest/gtest.h>

#include "analyze/job_for_tests.h"

namespace stepscope {
namespace {

std::vector<std::string> ids(const Advice& advice) {
  std::vector<std::string> list;
  for (const Finding& finding : advice.findings) list.push_back(finding.id);
  return list;
}

TEST(StragglerRank, PutsAtStakeWhatAllWaitFor) {
  HandMadeJob made(8);
  made.rank(5).input_us = 5000;  // 4 ms more, in a step of 13.5 ms
  const Advice advice = advise_job(made.build());
  ASSERT_EQ(ids(advice), std::vector<std::string>{"straggler-rank"});
  EXPECT_NEAR(advice.findings[0].at_stake_fraction, 4.0 / 13.5, 0.01);
  EXPECT_EQ(advice.findings[0].where, "rank 5");
  EXPECT_NE(advice.findings[0].title.find("cause: input"), std::string::npos);
}

TEST(StragglerRank, OfTwoEachHasAtStakeWhatItAloneHolds) {
  HandMadeJob made(8);
  made.rank(5).input_us = 5000;
  made.rank(2).kernel_us[0] = 7000;
  const Advice advice = advise_job(made.build());
  ASSERT_EQ(ids(advice), (std::vector<std::string>{"straggler-rank", "straggler-rank"}));
  double sum = 0;
  for (const Finding& finding : advice.findings) sum += finding.at_stake_fraction;
  EXPECT_NEAR(sum, 4.0 / 13.5, 0.01);
}

TEST(LoadImbalance, FiresWhereTheSlowestRankChanges) {
  HandMadeJob made(6);
  for (size_t r = 0; r < 6; ++r) {
    std::vector<int64_t> more(6, 0);
    more[r] = 3000;
    made.rank(r).more_us = more;
  }
  const Advice advice = advise_job(made.build());
  ASSERT_EQ(ids(advice), std::vector<std::string>{"load-imbalance"});
  EXPECT_NEAR(advice.findings[0].at_stake_fraction, 2.5 / 12.5, 0.01);
}

TEST(LoadImbalance, KeepsQuietWhereRanksAreNearlyEven) {
  HandMadeJob made(6);
  made.transfer_us = 300;
  made.rank(1).more_us = {300, 0, 300, 0, 300, 0};
  EXPECT_TRUE(advise_job(made.build()).findings.empty());
}

TEST(JobPoorOverlap, FiresWhereCommunicationCouldBeHidden) {
  HandMadeJob made(4);
  made.transfer_us = 3000;  // of 12 ms; computing takes 8 ms
  const Advice advice = advise_job(made.build());
  ASSERT_EQ(ids(advice), std::vector<std::string>{"poor-overlap"});
  EXPECT_NEAR(advice.findings[0].at_stake_fraction, 0.25, 0.01);
}

TEST(JobPoorOverlap, KeepsQuietWhereItIsHidden) {
  HandMadeJob made(4);
  made.transfer_us = 3000;
  made.is_hidden = true;
  EXPECT_TRUE(advise_job(made.build()).findings.empty());
}

TEST(JobCommunicationBound, FiresWhereThereIsMoreOfItThanOfComputing) {
  HandMadeJob made(4);
  made.transfer_us = 20'000;
  const Advice advice = advise_job(made.build());
  ASSERT_EQ(ids(advice), (std::vector<std::string>{"communication-bound", "poor-overlap"}));
  EXPECT_NEAR(advice.findings[0].at_stake_fraction, 20.0 / 29, 0.01);
}

TEST(JobCommunicationBound, WaitingForAStragglerIsNotCommunication) {
  HandMadeJob made(8);
  made.rank(5).input_us = 50'000;
  EXPECT_EQ(ids(advise_job(made.build())), std::vector<std::string>{"straggler-rank"});
}

}  // namespace
}  // namespace stepscope
