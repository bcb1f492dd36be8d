#include "advise/recording_cost.h"

#include <gtest/gtest.h>

#include <string>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

// What is taken off for a call in a trace whose recording says so.
int64_t cost_of_call(std::string_view format, std::string_view clock_read_ns) {
  TraceBuilder builder;
  builder.set_format(std::string(format));
  if (!clock_read_ns.empty()) builder.add_metadata(format::kClockReadKey, clock_read_ns, false);
  const Trace trace = std::move(builder).finish();
  return RecordingCost(trace).of(SliceKind::kPython);
}

TEST(RecordingCost, IsToldInReadsOfTheMachinesClock) {
  EXPECT_EQ(cost_of_call("sscope", "10"), 26);
  EXPECT_EQ(cost_of_call("sscope", "20.5"), 53);
}

TEST(RecordingCost, IsAUsualOneWhereTheRecordingTellsNothingThatCanBe) {
  EXPECT_EQ(cost_of_call("sscope", ""), 30);
  for (const char* absurd : {"0", "-5", "1e300", "nan", "inf", "fast"}) {
    EXPECT_EQ(cost_of_call("sscope", absurd), 30) << absurd;
  }
}

TEST(RecordingCost, IsNotKnownOfOtherTools) { EXPECT_EQ(cost_of_call("Kineto JSON", "10"), 0); }

}  // namespace
}  // namespace stepscope
