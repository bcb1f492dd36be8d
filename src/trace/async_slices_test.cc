#include "trace/async_slices.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace stepscope {
namespace {

class AsyncSlicesTest : public testing::Test {
 protected:
  void begin(uint64_t id, int64_t time_ns) { begin(id, time_ns, thread_); }
  void begin(uint64_t id, int64_t time_ns, TrackId track) {
    const LabelId label = builder_.label(std::to_string(id), "", SliceKind::kAnnotation);
    async_.begin(id, time_ns, builder_.add_slice(track, time_ns, 0, label), track);
  }
  // "7 10+5, 8 20+1 | 9 12+3": the slices of each lane.
  std::string finish(int64_t last_ns = 1000) {
    async_.finish(builder_, last_ns);
    trace_.emplace(std::move(builder_).finish());
    std::string text;
    for (const Track& track : trace_->tracks()) {
      if (track.kind != TrackKind::kAsync) continue;
      if (!text.empty()) text += " | ";
      for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
        if (row > track.first_slice) text += ", ";
        text += std::string(trace_->slice_name(SliceId{row})) + ' ' +
                std::to_string(trace_->slices().start_ns[row]) + '+' +
                std::to_string(trace_->slices().dur_ns[row]);
      }
    }
    return text;
  }
  uint64_t stat(Stat stat) const { return trace_->stats().get(stat); }

  TraceBuilder builder_;
  TrackId thread_ = builder_.add_thread({1}, {1});
  AsyncSlices async_;
  std::optional<Trace> trace_;
};

TEST_F(AsyncSlicesTest, AnEndMayComeBeforeItsBegin) {
  async_.end(7, 2000);
  begin(7, 1000);
  EXPECT_EQ(finish(), "7 1000+1000");
  EXPECT_FALSE(trace_->stats().has_faults());
}

TEST_F(AsyncSlicesTest, AnIdMayBeUsedAgainAtTheMomentOfItsEnd) {
  begin(7, 20);
  begin(7, 10);
  async_.end(7, 35);
  async_.end(7, 20);
  EXPECT_EQ(finish(), "7 10+10, 7 20+15");
  EXPECT_FALSE(trace_->stats().has_faults());
}

TEST_F(AsyncSlicesTest, ASliceMayEndWhenItBegins) {
  begin(7, 10);
  async_.end(7, 10);
  begin(7, 20);
  async_.end(7, 30);
  async_.end(7, 30);  // of the next
  begin(7, 30);
  EXPECT_EQ(finish(), "7 10+0, 7 20+10, 7 30+0");
  EXPECT_FALSE(trace_->stats().has_faults());
  EXPECT_EQ(stat(Stat::kSlicesOpenAtEnd), 0u);
}

TEST_F(AsyncSlicesTest, WhatHasNoPartnerIsCounted) {
  begin(7, 10);
  begin(7, 20);
  async_.end(8, 15);
  EXPECT_EQ(finish(100), "7 10+90 | 7 20+80");
  EXPECT_EQ(stat(Stat::kSlicesOpenAtEnd), 2u);
  EXPECT_EQ(stat(Stat::kEndsWithoutBegin), 1u);
}

TEST_F(AsyncSlicesTest, LieInAsFewLanesAsTheyFitIntoAndChangeNoNest) {
  const LabelId call = builder_.label("call", "", SliceKind::kPython);
  builder_.add_slice(thread_, 0, 50, call);
  builder_.add_slice(thread_, 15, 10, call);
  for (const int64_t start : {10, 20, 40}) {
    begin(static_cast<uint64_t>(start), start);
    async_.end(static_cast<uint64_t>(start), start + 20);
  }
  EXPECT_EQ(finish(), "10 10+20, 40 40+20 | 20 20+20");
  EXPECT_EQ(trace_->tracks()[0].slice_count, 2u);
  EXPECT_EQ(trace_->slices().depth, (std::vector<uint16_t>{0, 1, 0, 0, 0}));
  EXPECT_EQ(stat(Stat::kSlicesOverlapping), 0u);
}

TEST_F(AsyncSlicesTest, EachProcessHasLanesOfItsOwn) {
  const TrackId other = builder_.add_thread({2}, {2});
  begin(1, 10);
  begin(2, 30, other);
  async_.end(1, 20);
  async_.end(2, 40);
  EXPECT_EQ(finish(), "1 10+10 | 2 30+10");
  EXPECT_NE(trace_->tracks()[2].process, trace_->tracks()[3].process);
}

TEST_F(AsyncSlicesTest, AnyNumberAtOnceTakesALimitedNumberOfLanes) {
  for (uint64_t id = 0; id < 3 * AsyncSlices::kMaxLanes; ++id) begin(id, 10);
  finish();
  EXPECT_EQ(trace_->tracks().size(), 1 + AsyncSlices::kMaxLanes);
  EXPECT_EQ(trace_->slices().size(), 3 * AsyncSlices::kMaxLanes);
}

}  // namespace
}  // namespace stepscope
