#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/queue_lengths.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

TEST(LaunchStats, DelaysAreFromTheEndOfTheCallAndNotBelowNothing) {
  HandMadeTrace made;
  made.launch(0, 20, 1);
  made.launch(100, 20, 2);
  made.kernel("short", 15, 10, 1);  // begins before its call is over, and is shorter
  made.kernel("long", 150, 40, 2);
  const Trace trace = made.build();
  const Result<Table> table = launch_stats(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(int_at(*table, "calls", 0), 2);
  EXPECT_EQ(int_at(*table, "launched", 0), 2);
  EXPECT_EQ(int_at(*table, "call_ns", 0), 40);
  EXPECT_EQ(int_at(*table, "mean_delay_ns", 0), 15);
  EXPECT_EQ(int_at(*table, "max_delay_ns", 0), 30);
  EXPECT_EQ(int_at(*table, "short", 0), 1);
  TableOptions options;
  options.by = "call";
  const Result<Table> calls = make_view(trace, "launches", options);
  ASSERT_TRUE(calls.ok());
  ASSERT_EQ(calls->rows(), 2u);
  EXPECT_EQ(int_at(*calls, "correlation", 0), 1);
  EXPECT_EQ(int_at(*calls, "delay_ns", 0), 0);
  EXPECT_EQ(int_at(*calls, "delay_ns", 1), 30);
}

TEST(LaunchStats, AGraphIsOneCallOfManyPieces) {
  HandMadeTrace made;
  made.launch(0, 20, 1);
  for (int i = 0; i < 5; ++i) made.kernel("node", 30 + i * 10, 10, 1);
  const Trace trace = made.build();
  const Result<Table> table = launch_stats(trace, {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(int_at(*table, "calls", 0), 1);
  EXPECT_EQ(int_at(*table, "launched", 0), 5);
  EXPECT_EQ(int_at(*table, "call_ns", 0), 20);
}

TEST(QueueLengths, LaunchesAddAndBeginsTakeOff) {
  HandMadeTrace made;
  made.launch(0, 5, 1);
  made.launch(10, 5, 2);
  made.launch(20, 5, 3);
  made.kernel("a", 12, 10, 1);
  made.kernel("b", 30, 10, 2);
  made.kernel("c", 40, 10, 3);
  const Trace trace = made.build();
  const DeviceSlices work(trace);
  std::vector<int64_t> lengths;
  for (const QueueChange& change : find_queue_changes(trace, work, work.streams()[0])) {
    lengths.push_back(change.length);
  }
  EXPECT_EQ(lengths, (std::vector<int64_t>{1, 2, 1, 2, 1, 0}));
}

TEST(QueueLengths, ClocksThatDisagreeMakeNoQueueShorterThanNothing) {
  HandMadeTrace made;
  made.launch(100, 5, 1);
  made.kernel("early", 90, 20, 1);
  const Trace trace = made.build();
  const DeviceSlices work(trace);
  for (const QueueChange& change : find_queue_changes(trace, work, work.streams()[0])) {
    EXPECT_GE(change.length, 0);
  }
}

TEST(LaunchStats, TimeWithAFullQueueIsBlocked) {
  HandMadeTrace made;
  constexpr int64_t kLaunches = kFullQueue + 10;
  for (int64_t i = 0; i < kLaunches; ++i) made.launch(i * 10, 5, i + 1);
  for (int64_t i = 0; i < kLaunches; ++i) made.kernel("k", 20'000 + i * 100, 100, i + 1);
  const Trace trace = made.build();
  TableOptions options;
  options.by = "stream";
  const Result<Table> table = launch_stats(trace, options);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(int_at(*table, "max_queue", 0), kLaunches);
  // Full from the 1024th launch on until the eleventh kernel begins.
  EXPECT_EQ(int_at(*table, "blocked_ns", 0), 20'000 + 10 * 100 - (kFullQueue - 1) * 10);
}

}  // namespace
}  // namespace stepscope
