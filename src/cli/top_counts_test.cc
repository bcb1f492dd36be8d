#include "cli/top_counts.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope::cli {
namespace {

using sample::kNoParent;
using sample::kSampleHeldGil;
using sample::kSampleWaited;

constexpr int64_t kMs = 1'000'000;

// One process with two threads; main calls work, work calls itself, wait stands alone.
class TopCountsTest : public testing::Test {
 protected:
  enum Function : uint32_t { kMain, kWork, kWait };
  enum StackNumber : uint32_t { kInMain, kInWork, kInWorkTwice, kInWait };

  TopCountsTest() {
    counts_.add_process(0, 4711, "python train.py");
    counts_.add_thread(0, 0, 4711, {"MainThread"});
    counts_.add_thread(1, 0, 4712, {"waiter"});
    counts_.add_function(kMain, "main", "/src/train.py", 10);
    counts_.add_function(kWork, "work", "/src/train.py", 20);
    counts_.add_function(kWait, "wait", "/src/train.py", 30);
    counts_.add_stack(kInMain, kNoParent, kMain, 11);
    counts_.add_stack(kInWork, kInMain, kWork, 21);
    counts_.add_stack(kInWorkTwice, kInWork, kWork, 22);
    counts_.add_stack(kInWait, kNoParent, kWait, 31);
  }

  // A look at a thread that runs and holds the lock.
  void run(uint32_t stack, int64_t ms, uint32_t thread = 0) {
    counts_.add_sample({thread, ++time_ns_, stack, ms * kMs, ms * kMs, kSampleHeldGil, 1});
  }
  void wait(uint32_t stack, int64_t ms) {
    counts_.add_sample({1, ++time_ns_, stack, ms * kMs, 0, kSampleWaited, ms / 10});
  }
  // Spans are of 100 ms.
  void end_span(uint64_t main_cpu_ns = 0, uint64_t process_cpu_ns = 0) {
    end_ns_ += 100 * kMs;
    sample::ThreadState main{.thread = 0, .process = 0, .tid = 4711, .name = "MainThread"};
    main.is_running = true;
    main.cpu_ns = main_cpu_ns;
    const sample::ThreadState waiter{.thread = 1, .process = 0, .tid = 4712, .name = "waiter"};
    counts_.end_span({.end_ns = end_ns_,
                      .threads = {main, waiter},
                      .processes = {{.number = 0, .cpu_ns = process_cpu_ns}},
                      .counts = {.ticks = 10, .missed_ticks = 3, .torn = 1}});
  }
  TopFunction find(const std::string& name) const {
    for (const TopFunction& function : counts_.build_view().functions) {
      if (function.name == name) return function;
    }
    return {};
  }
  static int64_t cpu_ms(const TopTimes& times) { return times.get(TopWeight::kCpu) / kMs; }

  TopCounts counts_{2, 0};
  int64_t time_ns_ = 0;
  int64_t end_ns_ = 0;
};

TEST_F(TopCountsTest, OwnTimeIsTheInnermostFunctionsAndTotalTimeAllOfTheStacks) {
  run(kInMain, 10);
  run(kInWork, 30);
  end_span();
  EXPECT_EQ(cpu_ms(find("main").now.own), 10);
  EXPECT_EQ(cpu_ms(find("main").now.total), 40);
  EXPECT_EQ(cpu_ms(find("work").now.own), 30);
  EXPECT_EQ(cpu_ms(find("work").now.total), 30);
}

TEST_F(TopCountsTest, AFunctionThatCallsItselfCountsOnce) {
  run(kInWorkTwice, 10);
  end_span();
  EXPECT_EQ(cpu_ms(find("work").now.own), 10);
  EXPECT_EQ(cpu_ms(find("work").now.total), 10);
  EXPECT_EQ(cpu_ms(find("main").now.total), 10);
}

TEST_F(TopCountsTest, AWaitingThreadUsesNoCpuAndCountsOnlyInWallTime) {
  run(kInWork, 10);
  wait(kInWait, 90);
  end_span();
  const TopView view = counts_.build_view();
  EXPECT_EQ(view.now.times.get(TopWeight::kCpu), 10 * kMs);
  EXPECT_EQ(view.now.times.get(TopWeight::kWall), 100 * kMs);
  EXPECT_EQ(view.now.times.get(TopWeight::kGil), 10 * kMs);
  EXPECT_EQ(view.now.get_samples(TopWeight::kCpu), 1u);
  EXPECT_EQ(view.now.get_samples(TopWeight::kWall), 10u);
  EXPECT_EQ(cpu_ms(find("wait").now.own), 0);
  EXPECT_EQ(find("wait").now.own.get(TopWeight::kWall), 90 * kMs);
}

TEST_F(TopCountsTest, ASampleOfUnknownCpuTimeCountsUnlessItWaited) {
  counts_.add_sample({0, 1, kInWork, 10 * kMs, -1, 0, 1});
  counts_.add_sample({1, 1, kInWait, 10 * kMs, -1, kSampleWaited, 1});
  end_span();
  EXPECT_EQ(cpu_ms(find("work").now.own), 10);
  EXPECT_EQ(cpu_ms(find("wait").now.own), 0);
}

TEST_F(TopCountsTest, NowEndsAfterItsSpansAndSinceStartGoesOn) {
  run(kInWork, 30);
  end_span();
  run(kInMain, 20);
  end_span();
  EXPECT_EQ(cpu_ms(find("work").now.own), 30);
  end_span();
  EXPECT_EQ(cpu_ms(find("work").now.own), 0);
  EXPECT_EQ(cpu_ms(find("main").now.own), 20);
  EXPECT_EQ(cpu_ms(find("work").since_start.own), 30);
  const TopView view = counts_.build_view();
  EXPECT_EQ(view.now.wall_ns, 200 * kMs);
  EXPECT_EQ(view.since_start.wall_ns, 300 * kMs);
  EXPECT_EQ(view.since_start.get_samples(TopWeight::kWall), 2u);
}

TEST_F(TopCountsTest, AResetForgetsWhatWasSinceTheStartButNotWhatIsNow) {
  run(kInWork, 30);
  end_span();
  EXPECT_EQ(counts_.build_view().missed_ticks, 3u);
  counts_.reset();
  EXPECT_EQ(cpu_ms(find("work").now.own), 30);
  EXPECT_EQ(cpu_ms(find("work").since_start.own), 0);
  EXPECT_EQ(counts_.build_view().missed_ticks, 0u);
  EXPECT_EQ(counts_.build_view().since_start.wall_ns, 0);
}

TEST_F(TopCountsTest, SharesOfACoreAndOfTheLockAreOfTheTimeNow) {
  end_span(5'000 * kMs, 7'000 * kMs);  // before the first look it had run for long
  run(kInWork, 60);
  end_span(5'050 * kMs, 7'150 * kMs);
  run(kInWork, 40);
  end_span(5'130 * kMs, 7'300 * kMs);
  const TopView view = counts_.build_view();
  ASSERT_EQ(view.processes.size(), 1u);
  EXPECT_DOUBLE_EQ(view.processes[0].cpu_fraction, 1.5);
  EXPECT_DOUBLE_EQ(view.processes[0].gil_fraction, 0.5);
  EXPECT_EQ(view.processes[0].threads, 2u);
  EXPECT_EQ(view.processes[0].running, 1u);
  ASSERT_EQ(view.threads.size(), 2u);
  EXPECT_DOUBLE_EQ(view.threads[0].cpu_fraction, 0.65);
  EXPECT_DOUBLE_EQ(view.threads[0].gil_fraction, 0.5);
  EXPECT_DOUBLE_EQ(view.threads[1].gil_fraction, 0);
}

TEST_F(TopCountsTest, WhatAThreadUsedSinceItWasFirstSeenIsOfTheFirstSpan) {
  const sample::ThreadState main{.thread = 0, .process = 0, .tid = 4711, .cpu_ns = 940 * kMs};
  counts_.end_span({.end_ns = 100 * kMs,
                    .threads = {main},
                    .processes = {{0, 1'030 * kMs}},
                    .new_threads = {{0, 900 * kMs}},
                    .new_processes = {{0, 1'000 * kMs}}});
  EXPECT_DOUBLE_EQ(counts_.build_view().threads[0].cpu_fraction, 0.4);
  EXPECT_DOUBLE_EQ(counts_.build_view().processes[0].cpu_fraction, 0.3);
}

TEST_F(TopCountsTest, WhereTheKernelCountsNoCpuTimeSamplesTellIt) {
  end_span();
  run(kInWork, 60);
  end_span();
  EXPECT_DOUBLE_EQ(counts_.build_view().threads[0].cpu_fraction, 0.3);
}

TEST_F(TopCountsTest, AThreadStandsWhereItsLastSampleWas) {
  counts_.add_sample({0, 50, kInWork, kMs, kMs, 0, 1});
  counts_.add_sample({0, 40, kInMain, kMs, 0, kSampleWaited, 1});  // was held back
  end_span();
  const TopView view = counts_.build_view();
  EXPECT_EQ(view.threads[0].function, "work");
  EXPECT_EQ(view.threads[0].line, 21);
  EXPECT_EQ(view.threads[1].function, "");
}

TEST_F(TopCountsTest, AProcessThatHasEndedIsShownOnlyWhereNoneLives) {
  counts_.add_process(1, 4720, "python worker.py");
  counts_.end_process(1);
  EXPECT_EQ(counts_.build_view().processes.size(), 1u);
  EXPECT_EQ(counts_.build_view().processes[0].pid, 4711);
  EXPECT_EQ(counts_.build_view().ended_processes, 1u);
  counts_.end_process(0);
  ASSERT_EQ(counts_.build_view().processes.size(), 1u);
  EXPECT_TRUE(counts_.build_view().processes[0].has_ended);
}

TEST_F(TopCountsTest, AStackThatWasNeverToldCountsForNoFunction) {
  run(77, 10);
  end_span();
  EXPECT_TRUE(counts_.build_view().functions.empty());
  EXPECT_EQ(counts_.build_view().now.times.get(TopWeight::kCpu), 10 * kMs);
}

}  // namespace
}  // namespace stepscope::cli
