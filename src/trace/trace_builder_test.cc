#include "trace/trace_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace stepscope {
namespace {

constexpr int64_t kMinNs = std::numeric_limits<int64_t>::min();
constexpr int64_t kMaxNs = std::numeric_limits<int64_t>::max();

class Builder : public testing::Test {
 protected:
  LabelId label(std::string_view name) { return builder_.label(name, "", SliceKind::kOther); }
  const Trace& finish() { return trace_.emplace(std::move(builder_).finish()); }
  std::string name(uint32_t row) const { return std::string(trace_->slice_name(SliceId{row})); }
  int64_t dur_ns(uint32_t row) const { return trace_->slices().dur_ns[row]; }

  TraceBuilder builder_;
  TrackId thread_ = builder_.add_thread({1}, {1});
  std::optional<Trace> trace_;
};

TEST_F(Builder, MakesAnEmptyTraceOfNothing) {
  const Trace trace = TraceBuilder().finish();
  EXPECT_EQ(trace.slices().size(), 0u);
  EXPECT_TRUE(trace.tracks().empty());
  EXPECT_EQ(trace.begin_ns(), 0);
  EXPECT_EQ(trace.end_ns(), 0);
  EXPECT_FALSE(trace.stats().has_faults());
}

TEST_F(Builder, GivesTheSameTrackForTheSameIds) {
  EXPECT_EQ(builder_.add_thread({1}, {1}), thread_);
  EXPECT_NE(builder_.add_thread({2}, {1}), thread_);
  EXPECT_NE(builder_.add_thread({1}, {2}), thread_);
  EXPECT_NE(builder_.add_thread({1}, {1, builder_.string("Traces")}), thread_);
  builder_.track(thread_).kind = TrackKind::kStream;
  EXPECT_EQ(builder_.add_thread({1}, {1}), thread_);
  const StringId memory = builder_.string("memory");
  const TrackId counter = builder_.add_counter({1}, memory, kEmptyString);
  EXPECT_EQ(builder_.add_counter({1}, memory, kEmptyString), counter);
  EXPECT_NE(builder_.add_counter({1}, memory, memory), counter);
  EXPECT_EQ(builder_.add_process({1}), 0u);
  Track lane;
  EXPECT_NE(builder_.add_track(lane), builder_.add_track(lane));
}

TEST_F(Builder, SortsSlicesByTrackThenByTime) {
  const TrackId other = builder_.add_thread({1}, {2});
  builder_.add_slice(other, 50, 1, label("d"));
  builder_.add_slice(thread_, 20, 5, label("b"));
  builder_.add_slice(other, 10, 1, label("c"));
  builder_.add_slice(thread_, 0, 5, label("a"));
  finish();
  EXPECT_EQ(name(0) + name(1) + name(2) + name(3), "abcd");
  EXPECT_EQ(trace_->tracks()[1].first_slice, 2u);
  EXPECT_EQ(trace_->tracks()[1].slice_count, 2u);
  EXPECT_EQ(trace_->find_track_of(SliceId{1}), thread_);
  EXPECT_EQ(trace_->find_track_of(SliceId{2}), other);
  EXPECT_EQ(trace_->begin_ns(), 0);
  EXPECT_EQ(trace_->end_ns(), 51);
}

TEST_F(Builder, FindsTheTrackOfASliceBesideEmptyTracks) {
  TraceBuilder builder;
  std::vector<TrackId> tracks;
  for (int i = 0; i < 7; ++i) tracks.push_back(builder.add_thread({1}, {i}));
  const LabelId x = builder.label("x", "", SliceKind::kOther);
  for (const int t : {1, 1, 4}) builder.add_slice(tracks[static_cast<size_t>(t)], 0, 1, x);
  const Trace trace = std::move(builder).finish();
  EXPECT_EQ(trace.find_track_of(SliceId{0}), tracks[1]);
  EXPECT_EQ(trace.find_track_of(SliceId{1}), tracks[1]);
  EXPECT_EQ(trace.find_track_of(SliceId{2}), tracks[4]);
}

TEST_F(Builder, KeepsSlicesThatAreInOrderInTheirPlaces) {
  for (int i = 0; i < 100; ++i) builder_.add_slice(thread_, i, 1, label(std::to_string(i)));
  finish();
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(name(i), std::to_string(i));
}

TEST_F(Builder, KeepsTheOrderOfSlicesThatAreEqual) {
  builder_.add_slice(thread_, 7, 3, label("late"));
  builder_.add_slice(thread_, 5, 3, label("first"));
  builder_.add_slice(thread_, 5, 3, label("second"));
  finish();
  EXPECT_EQ(name(0), "first");
  EXPECT_EQ(name(1), "second");
}

TEST_F(Builder, EqualsAStableSortForRandomSlices) {
  std::mt19937_64 random(11);
  struct Row {
    uint32_t track;
    int64_t start_ns, dur_ns;
    LabelId label;
  };
  for (int round = 0; round < 20; ++round) {
    TraceBuilder builder;
    std::vector<Row> rows;
    for (int64_t t = 0; t < 4; ++t) builder.add_thread({1}, {t});
    for (int i = 0; i < 2500; ++i) {
      const bool is_long = random() % 50 == 0;
      Row row{static_cast<uint32_t>(random() % 4), static_cast<int64_t>(random() % 500),
              static_cast<int64_t>(random() % 20) * (is_long ? 1'000'000'000 : 1),
              builder.label(std::to_string(i), "", SliceKind::kOther)};
      builder.add_slice(TrackId{row.track}, row.start_ns, row.dur_ns, row.label);
      rows.push_back(row);
    }
    const Trace trace = std::move(builder).finish();
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
      return std::tuple(a.track, a.start_ns, -a.dur_ns) <
             std::tuple(b.track, b.start_ns, -b.dur_ns);
    });
    ASSERT_EQ(trace.slices().size(), rows.size());
    for (uint32_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(trace.slices().label[i], rows[i].label);
      ASSERT_EQ(trace.slices().dur_ns[i], rows[i].dur_ns);
      ASSERT_EQ(trace.find_track_of(SliceId{i}), TrackId{rows[i].track});
    }
  }
}

TEST_F(Builder, TakesANegativeDurationAsZeroAndCountsIt) {
  builder_.add_slice(thread_, 5, -1, label("x"));
  const SliceRef slice = builder_.add_slice(thread_, 6, 3, label("y"));
  builder_.set_dur_ns(slice, kMinNs);
  finish();
  EXPECT_EQ(dur_ns(0), 0);
  EXPECT_EQ(dur_ns(1), 0);
  EXPECT_EQ(trace_->stats().get(Stat::kDurationsNegative), 2u);
}

TEST_F(Builder, KeepsDurationsOfMoreThanFourSeconds) {
  constexpr int64_t kHourNs = 3'600'000'000'000;
  builder_.add_slice(thread_, kHourNs, 4'294'967'295, label("c"));
  builder_.add_slice(thread_, 0, kHourNs, label("a"));
  builder_.add_slice(thread_, 1, 4'294'967'294, label("b"));
  finish();
  EXPECT_EQ(dur_ns(0), kHourNs);
  EXPECT_EQ(dur_ns(1), 4'294'967'294);
  EXPECT_EQ(dur_ns(2), 4'294'967'295);
  EXPECT_EQ(trace_->slices().parent[1], SliceId{0});
  EXPECT_EQ(trace_->end_ns(), kHourNs + 4'294'967'295);
}

TEST_F(Builder, BringsTimesThatAreBeyondItsLimitsBack) {
  for (const int64_t start_ns : {kMinNs, kMinNs + 1, int64_t{-1}, int64_t{0}, kMaxNs - 1, kMaxNs}) {
    for (const int64_t duration_ns : {kMinNs, int64_t{0}, int64_t{1}, kMaxNs}) {
      builder_.add_slice(thread_, start_ns, duration_ns, label("x"));
    }
    builder_.begin_slice(thread_, start_ns, label("b"));
    builder_.end_slice(thread_, start_ns, true);
    builder_.add_counter_value(builder_.add_counter({1}, kEmptyString, kEmptyString), start_ns, 1);
    builder_.add_flow_point(thread_, start_ns, FlowPhase::kStart, false, 1, 1, label("f"));
    builder_.add_flow_point(thread_, start_ns, FlowPhase::kEnd, true, 1, 1, label("f"));
    builder_.add_allocation(thread_, {.time_ns = start_ns, .bytes = 1});
    builder_.add_sample(thread_, start_ns, kNoStack, start_ns);
    builder_.add_flow(SliceRef{0}, SliceRef{1}, start_ns, -(start_ns / 2), 0, label("f"));
  }
  finish();
  EXPECT_EQ(trace_->begin_ns(), -TraceBuilder::kMaxTimeNs);
  EXPECT_EQ(trace_->end_ns(), TraceBuilder::kMaxTimeNs + TraceBuilder::kMaxDurNs);
  for (const int64_t ns : trace_->flows().from_ns)
    EXPECT_LE(std::abs(ns), TraceBuilder::kMaxTimeNs);
}

TEST_F(Builder, AppendsSlicesInBulkAsIfAddedOneByOne) {
  const std::vector<int64_t> starts = {0, 10, 20, kMaxNs};
  const std::vector<uint32_t> shorts = {100, DurationColumn::kLong, 3, DurationColumn::kLong};
  const std::vector<std::pair<uint32_t, int64_t>> longs = {{1, 5'000'000'000}, {3, kMaxNs}};
  const std::vector<LabelId> labels(4, label("x"));
  const SliceRef before = builder_.add_slice(thread_, -5, 4'999'999'999, label("a"));
  const SliceRef first = builder_.add_slices(thread_, starts, shorts, longs, labels);
  EXPECT_EQ(index(first), index(before) + 1);
  EXPECT_EQ(builder_.dur_ns(SliceRef{index(first) + 1}), 5'000'000'000);
  builder_.add_slices(thread_, {}, {}, {}, {});
  finish();
  ASSERT_EQ(trace_->slices().size(), 5u);
  EXPECT_EQ(dur_ns(0), 4'999'999'999);
  EXPECT_EQ(dur_ns(2), 5'000'000'000);
  EXPECT_EQ(dur_ns(4), TraceBuilder::kMaxDurNs);
  EXPECT_EQ(trace_->slices().start_ns[4], TraceBuilder::kMaxTimeNs);
}

TEST_F(Builder, MovesASliceToTheTrackThatIsSetLate) {
  const TrackId lane = builder_.add_track({.kind = TrackKind::kAsync});
  const SliceRef slice = builder_.add_slice(thread_, 0, 1, label("a"));
  builder_.add_slice(thread_, 5, 1, label("b"));
  builder_.set_track(slice, lane);
  finish();
  EXPECT_EQ(trace_->tracks()[index(lane)].slice_count, 1u);
  EXPECT_EQ(name(trace_->tracks()[index(lane)].first_slice), "a");
}

TEST_F(Builder, MatchesBeginsAndEndsByTimeAndNesting) {
  builder_.begin_slice(thread_, 0, label("outer"));
  builder_.end_slice(thread_, 30, false);
  builder_.end_slice(thread_, 20, false);
  builder_.begin_slice(thread_, 10, label("inner"));
  finish();
  EXPECT_EQ(name(0), "outer");
  EXPECT_EQ(dur_ns(0), 30);
  EXPECT_EQ(name(1), "inner");
  EXPECT_EQ(dur_ns(1), 10);
  EXPECT_FALSE(trace_->stats().has_faults());
}

TEST_F(Builder, ClosesWhatHasNoEndAtTheEndOfTheTrace) {
  const TrackId other = builder_.add_thread({1}, {2});
  builder_.begin_slice(thread_, 10, label("a"));
  builder_.begin_slice(thread_, 20, label("b"));
  builder_.end_slice(thread_, 25, false);
  builder_.add_slice(other, 0, 8'000'000'000, label("c"));
  finish();
  EXPECT_EQ(dur_ns(0), 8'000'000'000 - 10);
  EXPECT_EQ(dur_ns(1), 5);
  EXPECT_EQ(trace_->stats().get(Stat::kBeginsWithoutEnd), 1u);
}

TEST_F(Builder, DropsEndsThatHaveNoBeginAndCountsThem) {
  builder_.end_slice(thread_, 5, false);
  const SliceRef ghost = builder_.end_slice(thread_, 6, true);
  builder_.add_int(builder_.arg_column("n", ArgType::kInt), ghost, 1);
  builder_.begin_slice(thread_, 10, label("a"));
  builder_.end_slice(thread_, 15, false);
  builder_.end_slice(thread_, 16, false);
  finish();
  EXPECT_EQ(trace_->slices().size(), 1u);
  EXPECT_EQ(dur_ns(0), 5);
  EXPECT_EQ(trace_->stats().get(Stat::kEndsWithoutBegin), 3u);
  EXPECT_TRUE(trace_->args().empty());
}

TEST_F(Builder, ClosesManyDeepBeginsOfLongDurationInLinearTime) {
  constexpr int64_t kCount = 300'000;
  for (int64_t i = 0; i < kCount; ++i) builder_.begin_slice(thread_, i, label("x"));
  for (int64_t i = 0; i < kCount / 2; ++i) {
    builder_.end_slice(thread_, 10'000'000'000 + i, false);
  }
  finish();
  EXPECT_EQ(dur_ns(kCount - 1), 10'000'000'000 - (kCount - 1));
  EXPECT_EQ(trace_->stats().get(Stat::kBeginsWithoutEnd), static_cast<uint64_t>(kCount / 2));
}

TEST_F(Builder, SortsCountersByTrackAndTime) {
  const TrackId b = builder_.add_counter({1}, builder_.string("b"), kEmptyString);
  const TrackId c = builder_.add_counter({1}, builder_.string("c"), kEmptyString);
  builder_.add_counter_value(c, 5, 50);
  builder_.add_counter_value(b, 9, 9);
  builder_.add_counter_value(c, 1, 10);
  builder_.add_counter_value(b, 9, 8);
  finish();
  EXPECT_EQ(trace_->counters().time_ns, (std::vector<int64_t>{9, 9, 1, 5}));
  EXPECT_EQ(trace_->counters().value, (std::vector<double>{9, 8, 10, 50}));
  EXPECT_EQ(trace_->tracks()[index(c)].first_value, 2u);
  EXPECT_EQ(trace_->tracks()[index(c)].value_count, 2u);
  EXPECT_EQ(trace_->begin_ns(), 1);
  EXPECT_EQ(trace_->end_ns(), 9);
}

TEST_F(Builder, IgnoresRangesThatATrackBringsAlong) {
  Track track;
  track.kind = TrackKind::kCounter;
  track.first_slice = track.slice_count = 77;
  track.first_value = track.value_count = 78;
  const TrackId counter = builder_.add_track(track);
  builder_.add_counter_value(counter, 1, 1);
  finish();
  EXPECT_EQ(trace_->tracks()[index(counter)].slice_count, 0u);
  EXPECT_EQ(trace_->tracks()[index(counter)].first_value, 0u);
  EXPECT_EQ(trace_->tracks()[index(counter)].value_count, 1u);
}

TEST_F(Builder, KeepsFramesStacksSamplesAndCallEdges) {
  const FrameId main = builder_.add_frame({builder_.string("main"), builder_.string("a.py"), 1});
  const FrameId work = builder_.add_frame({builder_.string("work"), builder_.string("a.py"), 9});
  EXPECT_EQ(builder_.add_frame({builder_.string("main"), builder_.string("a.py"), 1}), main);
  EXPECT_NE(builder_.add_frame({builder_.string("main"), builder_.string("a.py"), 2}), main);
  const StackId root = builder_.add_stack({kNoStack, main});
  const StackId leaf = builder_.add_stack({root, work});
  EXPECT_EQ(builder_.add_stack({kNoStack, main}), root);
  builder_.add_sample(thread_, 10, leaf, 1000);
  builder_.add_call_edge(kNoFrame, main, 1, 1, 5, 10);
  builder_.add_call_edge(main, work, 3, 2, 5, 5);
  finish();
  EXPECT_EQ(trace_->frames().size(), 3u);
  EXPECT_EQ(trace_->stacks()[index(leaf)], (StackNode{root, work}));
  EXPECT_EQ(trace_->samples().stack[0], leaf);
  EXPECT_EQ(trace_->call_edges().primitive_calls[1], 2u);
  EXPECT_EQ(trace_->begin_ns(), 10);
}

TEST_F(Builder, KeepsTheLastValueOfAMetadataKey) {
  builder_.add_metadata("a", "1", false);
  builder_.add_metadata("b", "[]", true);
  builder_.add_metadata("a", "2", true);
  finish();
  ASSERT_EQ(trace_->metadata().size(), 2u);
  EXPECT_EQ(trace_->find_metadata("a"), "2");
  EXPECT_TRUE(trace_->metadata()[0].is_json);
  EXPECT_EQ(trace_->find_metadata("c"), "");
}

}  // namespace
}  // namespace stepscope
