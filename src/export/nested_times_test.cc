#include "export/nested_times.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

struct Span {
  int64_t start_ns;
  int64_t end_ns;
  bool is_scope = false;
};

constexpr bool kScope = true;

Trace build(const std::vector<Span>& spans) {
  TraceBuilder builder;
  const TrackId track = builder.add_thread({1}, {1});
  for (const Span& span : spans) {
    const LabelId label = span.is_scope
                              ? builder.label("x", "user_annotation", SliceKind::kAnnotation)
                              : builder.label("x", "python_function", SliceKind::kPython);
    builder.add_slice(track, span.start_ns, span.end_ns - span.start_ns, label);
  }
  return std::move(builder).finish();
}

// "0-10 2-5", in the order of the trace's rows.
std::string nested(const Trace& trace) {
  NestedTimes times(trace);
  times.load(trace.tracks()[0]);
  std::string text;
  for (uint32_t row = 0; row < trace.slices().size(); ++row) {
    const int64_t start_ns = times.start_ns(row);
    if (!text.empty()) text += ' ';
    text += std::to_string(start_ns) + "-" + std::to_string(start_ns + times.dur_ns(row));
  }
  return text;
}

std::string nested(const std::vector<Span>& spans) { return nested(build(spans)); }

TEST(NestedTimes, LeavesWhatNestsAsItIs) {
  EXPECT_EQ(nested({{0, 100}, {10, 50, kScope}, {20, 50}, {50, 60}, {100, 105}}),
            "0-100 10-50 20-50 50-60 100-105");
}

TEST(NestedTimes, CutsTheCallsInWhichAScopeBeginsAndEnds) {
  // f calls __enter__, work and __exit__, each with a call of its own.
  EXPECT_EQ(nested({{0, 200},
                    {20, 40},
                    {22, 35},
                    {30, 100, kScope},
                    {45, 60},
                    {90, 110},
                    {92, 94},
                    {95, 105},
                    {106, 108}}),
            "0-200 20-30 22-30 30-100 45-60 100-110 92-94 100-105 106-108");
}

TEST(NestedTimes, CutsACallThatOutlivesSeveralScopesAtTheOutermost) {
  EXPECT_EQ(nested({{0, 100, kScope}, {10, 90, kScope}, {20, 120}, {30, 40}}),
            "0-100 10-90 100-120 30-40");
}

TEST(NestedTimes, CutsTheLaterOfTwoScopesAndOfTwoCalls) {
  EXPECT_EQ(nested({{0, 10, kScope}, {5, 15, kScope}}), "0-10 5-10");
  EXPECT_EQ(nested({{0, 10}, {5, 15}}), "0-10 5-10");
}

TEST(NestedTimes, NeverLeavesTwoSlicesOverlapping) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Span> spans;
    for (int i = 0; i < 12; ++i) {
      const auto start_ns = static_cast<int64_t>(random() % 40);
      const bool is_scope = random() % 2 == 0;
      spans.push_back({start_ns, start_ns + static_cast<int64_t>(random() % 30), is_scope});
    }
    const Trace trace = build(spans);
    NestedTimes times(trace);
    times.load(trace.tracks()[0]);
    const auto end_ns = [&](uint32_t row) { return times.start_ns(row) + times.dur_ns(row); };
    for (uint32_t one = 0; one < spans.size(); ++one) {
      ASSERT_GE(times.dur_ns(one), 0);
      for (uint32_t other = 0; other < spans.size(); ++other) {
        const bool overlap = times.start_ns(one) < times.start_ns(other) &&
                             times.start_ns(other) < end_ns(one) && end_ns(one) < end_ns(other);
        ASSERT_FALSE(overlap) << "round " << round << ": " << nested(trace);
      }
    }
  }
}

}  // namespace
}  // namespace stepscope
