// How arrows and allocations find their slices, on their own and through TraceBuilder.
#include "trace/find_slices.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

class Binding : public testing::Test {
 protected:
  LabelId label(std::string_view name, SliceKind kind = SliceKind::kOther) {
    return builder_.label(name, "", kind);
  }
  void add_point(int64_t time_ns, FlowPhase phase, uint64_t key, bool binds_next = false) {
    builder_.add_flow_point(thread_, time_ns, phase, binds_next, key, key + 100, label("flow"));
  }
  const Trace& finish() { return trace_.emplace(std::move(builder_).finish()); }
  // "0>1 1>2": the arrows by row.
  std::string arrows() const {
    std::string text;
    const FlowColumns& flows = trace_->flows();
    for (size_t i = 0; i < flows.from.size(); ++i) {
      if (i > 0) text += ' ';
      text += std::to_string(index(flows.from[i]));
      text += '>';
      text += std::to_string(index(flows.to[i]));
    }
    return text;
  }
  uint64_t unbound() const { return trace_->stats().get(Stat::kFlowsUnbound); }

  TraceBuilder builder_;
  TrackId thread_ = builder_.add_thread({1}, {1});
  std::optional<Trace> trace_;
};

TEST_F(Binding, TakesAnArrowFromTheOpenSliceToTheNextThatStarts) {
  builder_.add_slice(thread_, 0, 100, label("outer"));
  builder_.add_slice(thread_, 10, 10, label("launch"));
  builder_.add_slice(thread_, 200, 10, label("kernel"));
  add_point(15, FlowPhase::kStart, 1);
  add_point(150, FlowPhase::kEnd, 1, true);
  finish();
  EXPECT_EQ(arrows(), "1>2");
  EXPECT_EQ(trace_->flows().from_ns[0], 15);
  EXPECT_EQ(trace_->flows().to_ns[0], 150);
  EXPECT_EQ(trace_->flows().id[0], 101u);
  EXPECT_EQ(unbound(), 0u);
}

TEST_F(Binding, BindsAnEndToTheOpenSliceWhereItSaysSo) {
  builder_.add_slice(thread_, 0, 10, label("a"));
  builder_.add_slice(thread_, 20, 10, label("b"));
  builder_.add_slice(thread_, 20, 5, label("c"));
  builder_.add_slice(thread_, 40, 5, label("d"));
  add_point(5, FlowPhase::kStart, 1);
  add_point(20, FlowPhase::kEnd, 1, false);  // bp: e
  add_point(5, FlowPhase::kStart, 2);
  add_point(20, FlowPhase::kEnd, 2, true);
  finish();
  EXPECT_EQ(arrows(), "0>1 0>2");
}

TEST_F(Binding, MakesAChainOfSteps) {
  for (int64_t i = 0; i < 4; ++i) builder_.add_slice(thread_, i * 10, 5, label("x"));
  add_point(21, FlowPhase::kStep, 1);
  add_point(31, FlowPhase::kEnd, 1);
  add_point(1, FlowPhase::kStart, 1);
  add_point(11, FlowPhase::kStep, 1);
  finish();
  EXPECT_EQ(arrows(), "0>1 1>2 2>3");
  EXPECT_EQ(unbound(), 0u);
}

TEST_F(Binding, StartsANewChainWhenAnIdIsUsedAgain) {
  for (int64_t i = 0; i < 4; ++i) builder_.add_slice(thread_, i * 10, 5, label("x"));
  add_point(1, FlowPhase::kStart, 1);
  add_point(11, FlowPhase::kEnd, 1);
  add_point(21, FlowPhase::kStart, 1);
  add_point(31, FlowPhase::kEnd, 1);
  finish();
  EXPECT_EQ(arrows(), "0>1 2>3");
}

TEST_F(Binding, KeepsALoneArrowThatGoesBackInTime) {
  builder_.add_slice(thread_, 0, 10, label("device"));
  builder_.add_slice(thread_, 20, 10, label("host"));
  add_point(20, FlowPhase::kStart, 1);
  add_point(0, FlowPhase::kEnd, 1);
  finish();
  EXPECT_EQ(arrows(), "1>0");
  EXPECT_EQ(unbound(), 0u);
}

TEST_F(Binding, CountsArrowsThatLackAnEndOrASlice) {
  builder_.add_slice(thread_, 0, 10, label("x"));
  add_point(1, FlowPhase::kStart, 1);  // no end
  add_point(2, FlowPhase::kEnd, 2);    // no start
  add_point(3, FlowPhase::kStart, 3);
  add_point(50, FlowPhase::kEnd, 3);  // no slice
  add_point(4, FlowPhase::kStart, 4);
  add_point(5, FlowPhase::kStart, 4);  // the one before has no end
  add_point(6, FlowPhase::kEnd, 4);
  add_point(7, FlowPhase::kEnd, 4);
  finish();
  EXPECT_EQ(arrows(), "0>0");
  EXPECT_EQ(unbound(), 5u);
}

TEST_F(Binding, KeepsArrowsBetweenKnownSlicesThroughSorting) {
  const SliceRef late = builder_.add_slice(thread_, 50, 5, label("x"));
  const SliceRef early = builder_.add_slice(thread_, 10, 5, label("y"));
  builder_.add_flow(early, late, 11, 51, 7, label("flow"));
  finish();
  EXPECT_EQ(arrows(), "0>1");
}

TEST_F(Binding, GivesAnAllocationToTheInnermostOpenSlice) {
  const TrackId empty = builder_.add_thread({1}, {2});
  builder_.add_slice(thread_, 0, 100, label("outer"));
  builder_.add_slice(thread_, 10, 20, label("inner"));
  builder_.add_slice(thread_, 15, 0, label("[memory]", SliceKind::kInstant));
  builder_.add_allocation(thread_, {.time_ns = 100, .bytes = -5});  // after all
  builder_.add_allocation(thread_, {.time_ns = 15, .address = 7, .bytes = 5, .device_id = 2});
  builder_.add_allocation(thread_, {.time_ns = 30, .bytes = 6, .total_allocated_bytes = 11});
  builder_.add_allocation(empty, {.time_ns = 15, .bytes = 7});
  finish();
  const AllocationColumns& allocations = trace_->allocations();
  EXPECT_EQ(allocations.time_ns, (std::vector<int64_t>{15, 15, 30, 100}));
  EXPECT_EQ(allocations.slice, (std::vector<SliceId>{SliceId{1}, kNoSlice, SliceId{0}, kNoSlice}));
  EXPECT_EQ(allocations.device_id, (std::vector<int16_t>{2, -1, -1, -1}));
  EXPECT_EQ(allocations.total_allocated_bytes, (std::vector<int64_t>{-1, -1, 11, -1}));
  EXPECT_EQ(allocations.bytes, (std::vector<int64_t>{5, 7, 6, -5}));
}

TEST_F(Binding, TakesLinearTimeForDeepNestingAndManyPoints) {
  constexpr int64_t kCount = 100'000;
  for (int64_t i = 0; i < kCount; ++i) builder_.add_slice(thread_, i / 2, kCount - i, label("x"));
  for (int64_t i = 0; i < kCount; ++i) {
    builder_.add_allocation(thread_, {.time_ns = 2 * kCount + i, .bytes = 1});
    builder_.add_allocation(thread_, {.time_ns = kCount / 2, .bytes = 1});
  }
  finish();
  EXPECT_EQ(trace_->allocations().slice.back(), kNoSlice);
}

TEST(FindSlices, EqualsTheSlowWayForRandomSlicesAndPoints) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 200; ++round) {
    TraceBuilder builder;
    const LabelId other = builder.label("x", "", SliceKind::kOther);
    const LabelId instant = builder.label("i", "", SliceKind::kInstant);
    for (int64_t t = 0; t < 3; ++t) builder.add_thread({1}, {t});
    for (int i = 0; i < 60; ++i) {
      const bool is_instant = random() % 8 == 0;
      builder.add_slice(
          TrackId{static_cast<uint32_t>(random() % 2)}, static_cast<int64_t>(random() % 40),
          is_instant ? 0 : static_cast<int64_t>(random() % 15), is_instant ? instant : other);
    }
    std::vector<PointInTime> points;
    for (int i = 0; i < 100; ++i) {
      points.push_back({static_cast<int64_t>(random() % 60) - 5,
                        TrackId{static_cast<uint32_t>(random() % 3)}, random() % 2 == 0});
    }
    const Trace trace = std::move(builder).finish();
    const SliceColumns& slices = trace.slices();
    const auto found = find_slices(trace.tracks(), slices, trace.labels(), points);
    for (size_t i = 0; i < points.size(); ++i) {
      const PointInTime& point = points[i];
      const Track& track = trace.tracks()[index(point.track)];
      SliceId expected = kNoSlice;
      for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
        const int64_t start_ns = slices.start_ns[row];
        if (point.binds_next) {
          if (start_ns >= point.time_ns && expected == kNoSlice) expected = SliceId{row};
        } else if (slices.label[row] == other && start_ns <= point.time_ns &&
                   (start_ns == point.time_ns || point.time_ns < slices.end_ns(row))) {
          expected = SliceId{row};
        }
      }
      ASSERT_EQ(found[i], expected) << "round " << round << " point " << i;
    }
  }
}

}  // namespace
}  // namespace stepscope
