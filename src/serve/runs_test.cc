#include "serve/runs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/api.h"
#include "trace/trace_for_tests.h"

namespace stepscope::serve {
namespace {

// Runs whose loads are counted; those named "bad…" do not open.
struct CountedRuns {
  explicit CountedRuns(size_t max_open)
      : runs(Runs::when_asked(
            [this](const std::string& path) -> Result<Trace> {
              ++loads;
              if (path.find("bad") != std::string::npos) return Status::error(path + ": bad");
              return std::move(TraceBuilder()).finish();
            },
            max_open)) {}

  std::atomic<int> loads = 0;
  std::unique_ptr<Runs> runs;
};

TEST(Runs, WaitUntilTheyAreAskedFor) {
  CountedRuns counted(4);
  counted.runs->add_when_asked("a.json", "a");
  counted.runs->add_when_asked("b.json", "b");
  EXPECT_EQ(counted.runs->info().size(), 2U);
  EXPECT_EQ(counted.loads, 0);
  EXPECT_NE(counted.runs->load(1).trace, nullptr);
  EXPECT_NE(counted.runs->load(1).trace, nullptr);
  EXPECT_EQ(counted.loads, 1);
  EXPECT_EQ(counted.runs->info(0).trace, nullptr);
  EXPECT_EQ(counted.runs->load(2).trace, nullptr);
}

TEST(Runs, LetGoOfTheOneThatWasNotAskedForLongest) {
  CountedRuns counted(2);
  for (const char* name : {"a", "b", "c"}) counted.runs->add_when_asked(name, name);
  for (const size_t run : {0, 1, 0, 2}) counted.runs->load(run);
  EXPECT_NE(counted.runs->info(0).trace, nullptr);
  EXPECT_EQ(counted.runs->info(1).trace, nullptr);
  EXPECT_NE(counted.runs->info(2).trace, nullptr);
  EXPECT_NE(counted.runs->load(1).trace, nullptr);
  EXPECT_EQ(counted.loads, 4);
}

TEST(Runs, TryAgainWhenAFileThatFailedHasChanged) {
  const std::string path = testing::TempDir() + "/bad_run.json";
  std::ofstream(path) << "{";
  CountedRuns counted(2);
  counted.runs->add_when_asked(path, "bad");
  EXPECT_EQ(counted.runs->load(0).error, path + ": bad");
  counted.runs->load(0);
  EXPECT_EQ(counted.loads, 1);
  std::ofstream(path) << "{}";
  counted.runs->load(0);
  EXPECT_EQ(counted.loads, 2);
  std::remove(path.c_str());
}

TEST(Runs, AreLoadedOnceHoweverManyAsk) {
  CountedRuns counted(3);
  counted.runs->add_when_asked("a", "a");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      EXPECT_NE(counted.runs->load(0).trace, nullptr);
      counted.runs->add_when_asked("b", "b");
      EXPECT_GE(counted.runs->info().size(), 2U);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counted.loads, 1);
  EXPECT_EQ(counted.runs->size(), 9U);
}

TEST(Runs, ThatWaitAreSaidToAndLoadedByTheRequest) {
  CountedRuns counted(3);
  counted.runs->add_when_asked("a", "a");
  Api api(*counted.runs);
  EXPECT_NE(api.answer({.path = "runs"}).body.find("is_waiting"), std::string::npos);
  const ApiAnswer answer = api.answer({.path = "runs", .parameters = {{"run", "0"}}});
  EXPECT_EQ(answer.body.find("is_waiting"), std::string::npos);
  EXPECT_EQ(api.answer({.path = "runs", .parameters = {{"run", "x"}}}).status, kStatusBadRequest);
  EXPECT_EQ(api.answer({.path = "runs", .parameters = {{"run", "7"}}}).status, kStatusFine);
}

}  // namespace
}  // namespace stepscope::serve
