#include "serve/runs_job.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/ranks_for_tests.h"

namespace stepscope::serve {
namespace {

std::vector<int64_t> ranks_of(const Job& job) {
  std::vector<int64_t> ranks;
  for (const JobRank& rank : job.ranks) ranks.push_back(rank.summary.rank);
  return ranks;
}

bool has_note(const Job& job, const std::string& part) {
  for (const std::string& note : job.notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(RunsJob, IsOfAllRunsAndSaysWhichDidNotOpen) {
  std::vector<RunInfo> infos = {make_rank_run(0, 0), make_rank_run(1, 300'000)};
  infos.push_back({.path = "c", .name = "c", .error = "c: no such file"});
  const auto runs = Runs::of(std::move(infos));
  RunsJob jobs(*runs);
  const auto job = jobs.get(0, {});
  ASSERT_TRUE(job);
  EXPECT_EQ(ranks_of(**job), (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE((*job)->has_waits);
  EXPECT_TRUE(has_note(**job, "not read: c: no such file"));
  EXPECT_EQ((*job)->ranks[1].summary.source, "rank1.json");
}

TEST(RunsJob, IsMadeOnceHoweverManyAsk) {
  const auto runs = Runs::of({make_rank_run(0, 0), make_rank_run(1, 0)});
  RunsJob jobs(*runs);
  std::vector<std::shared_ptr<const Job>> made(8);
  std::vector<std::thread> threads;
  for (auto& one : made) threads.emplace_back([&] { one = *jobs.get(1, {}); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : made) EXPECT_EQ(one, made[0]);
}

TEST(RunsJob, StopsWhenNoOneWaits) {
  const auto runs = Runs::of({make_rank_run(0, 0), make_rank_run(1, 0)});
  RunsJob jobs(*runs);
  EXPECT_FALSE(jobs.get(0, {.should_stop = [] { return true; }}));
  EXPECT_TRUE(jobs.get(0, {}));
  EXPECT_FALSE(jobs.get(2, {}));
}

// Runs of a logdir: loads are counted, and the trace of "a/rank3.json" is that of rank 3.
struct Logdir {
  Logdir()
      : runs(Runs::when_asked(
            [this](const std::string& path) -> Result<Trace> {
              ++loads;
              return make_rank_trace(path[path.size() - 6] - '0', 0);
            },
            2)) {
    for (const char* name : {"a/rank0.json", "a/rank1.json", "b/rank0.json", "a/rank2.json"}) {
      runs->add_when_asked(std::string("/nowhere/") + name, name);
    }
  }

  std::atomic<int> loads = 0;
  std::unique_ptr<Runs> runs;
};

TEST(RunsJob, LoadsNoRunThatWaits) {
  Logdir logdir;
  RunsJob jobs(*logdir.runs);
  logdir.runs->load(0);
  const auto job = jobs.get(0, {});
  ASSERT_TRUE(job);
  EXPECT_EQ(logdir.loads, 1);
  EXPECT_EQ(ranks_of(**job), (std::vector<int64_t>{0}));
  EXPECT_TRUE(has_note(**job, "2 more runs are not loaded"));
}

TEST(RunsJob, KeepsWhatItKnowsOfRunsThatWereLetGo) {
  Logdir logdir;
  RunsJob jobs(*logdir.runs);
  for (const size_t run : {0, 1, 3}) {
    logdir.runs->load(run);
    ASSERT_TRUE(jobs.get(run, {}));
  }
  EXPECT_EQ(logdir.runs->info(0).trace, nullptr);
  EXPECT_EQ(ranks_of(**jobs.get(0, {})), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(logdir.loads, 3);
}

TEST(RunsJob, OfAnotherFolderIsAnotherJob) {
  Logdir logdir;
  RunsJob jobs(*logdir.runs);
  logdir.runs->load(0);
  logdir.runs->load(2);
  EXPECT_EQ((*jobs.get(2, {}))->ranks.front().summary.source, "b/rank0.json");
  EXPECT_EQ((*jobs.get(2, {}))->ranks.size(), 1U);
  EXPECT_EQ((*jobs.get(3, {}))->ranks.front().summary.source, "a/rank0.json");
}

TEST(RunsJob, ReadsRunsThatWaitWhereTheyAreWanted) {
  Logdir logdir;
  RunsJob jobs(*logdir.runs);
  logdir.runs->load(0);
  const auto job = jobs.get(0, {.with_waiting = true});
  ASSERT_TRUE(job);
  EXPECT_EQ(logdir.loads, 1);  // their files are read beside the runs, which stay as they are
  EXPECT_TRUE(has_note(**job, "not read: a/rank1.json: no such file"));
  EXPECT_FALSE(has_note(**job, "not loaded"));
}

}  // namespace
}  // namespace stepscope::serve
