#include "trace/memory_timeline.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "trace/training_trace_for_tests.h"

namespace stepscope {
namespace {

// A line per moment: "20 cpu 100", with the total.
std::string totals_of(const Trace& trace) {
  const std::shared_ptr<const MemoryTimeline> timeline = MemoryTimeline::of(trace);
  std::string text;
  timeline->walk({}, [&](const MemoryAtMoment& now) {
    text += std::to_string(now.time_ns) + " " + device_name(timeline->devices()[now.device]) + " " +
            std::to_string(now.total_bytes()) + "\n";
  });
  return text;
}

TEST(MemoryTimeline, TellsEachMomentAndDeviceOnceFromTheBeginOn) {
  TrainingTrace made;
  made.op("aten::mm", 5, 100);
  made.take(10, 0xa, 100);
  made.take(20, 0xb, 10);
  made.give_back(20, 0xa, 100);
  made.give_back(30, 0xc, 1'000);  // from before
  made.set_device(1, 0);
  made.take(20, 0xa, 7);
  EXPECT_EQ(totals_of(made.build()),
            "5 cpu 1000\n10 cpu 1100\n20 cpu 1010\n20 cuda:0 7\n30 cpu 10\n");
}

TEST(MemoryTimeline, FindsThePeakOfEachDevice) {
  TrainingTrace made;
  made.op("aten::mm", 5, 100);
  made.take(10, 0xa, 100);
  made.give_back(20, 0xa, 100);
  made.take(30, 0xb, 100);  // as high, but later
  const Trace trace = made.build();
  const std::vector<MemoryAtMoment> peaks = MemoryTimeline::of(trace)->find_peaks();
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].time_ns, 10);
  EXPECT_EQ(peaks[0].total_bytes(), 100);
}

TEST(MemoryTimeline, SumsBeyondAllMemoryStayInTheirRange) {
  TrainingTrace made;
  const int64_t most = std::numeric_limits<int64_t>::max();
  made.take(10, 0xa, most);
  made.take(20, 0xb, most);
  made.give_back(30, 0xc, most);
  made.give_back(40, 0xa, most);
  EXPECT_NE(totals_of(made.build()), "");
}

TEST(MemoryTimeline, TakesTheCategoriesOfTorchsOwnTimeline) {
  TrainingTrace made;
  TraceBuilder& builder = made.builder();
  for (const MemoryCategoryName& name : kMemoryCategoryNames) {
    const TrackId counter =
        builder.add_counter({}, builder.string("memory"), builder.string(name.one));
    builder.add_counter_value(counter, 10, name.one == "gradient" ? 64 : 0);
    if (name.one == "activation") builder.add_counter_value(counter, 20, 1'000);
    if (name.one == "input") {
      builder.add_counter_value(counter, 30, std::numeric_limits<double>::infinity());
      builder.add_counter_value(counter, 40, std::numeric_limits<double>::quiet_NaN());
    }
  }
  made.take(10, 0, 64);
  const Trace trace = made.build();
  const std::shared_ptr<const MemoryTimeline> timeline = MemoryTimeline::of(trace);
  EXPECT_TRUE(timeline->has(MemoryCategory::kGradient));
  EXPECT_FALSE(timeline->has(MemoryCategory::kParameter));
  std::vector<MemoryAtMoment> moments;
  timeline->walk({}, [&](const MemoryAtMoment& now) { moments.push_back(now); });
  ASSERT_EQ(moments.size(), 4u);
  EXPECT_EQ(moments[0].total_bytes(), 64);
  EXPECT_EQ(moments[1].bytes[static_cast<size_t>(MemoryCategory::kActivation)], 1'000);
  EXPECT_EQ(moments[3].total_bytes(), 1'064);
}

}  // namespace
}  // namespace stepscope
