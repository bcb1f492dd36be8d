#include "trace/nesting.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

struct Span {
  int64_t start_ns;
  int64_t dur_ns;
};

Trace build(const std::vector<Span>& spans) {
  TraceBuilder builder;
  const TrackId track = builder.add_thread({1}, {1});
  const LabelId label = builder.label("x", "", SliceKind::kOther);
  for (const Span& span : spans) builder.add_slice(track, span.start_ns, span.dur_ns, label);
  return std::move(builder).finish();
}

// The slow equivalent: the last of all earlier slices that holds it.
SliceId find_parent_slowly(const SliceColumns& slices, uint32_t row) {
  for (uint32_t before = row; before-- > 0;) {
    if (slices.start_ns[row] < slices.end_ns(before) &&
        slices.end_ns(row) <= slices.end_ns(before)) {
      return SliceId{before};
    }
  }
  return kNoSlice;
}

void expect_sound_nesting(const Trace& trace) {
  const SliceColumns& slices = trace.slices();
  std::vector<int64_t> children_ns(slices.size());
  uint64_t overlapping = 0;
  for (uint32_t row = 0; row < slices.size(); ++row) {
    const SliceId parent = find_parent_slowly(slices, row);
    ASSERT_EQ(slices.parent[row], parent) << row;
    const int depth = parent == kNoSlice ? 0 : slices.depth[index(parent)] + 1;
    ASSERT_EQ(slices.depth[row], depth) << row;
    if (parent != kNoSlice) children_ns[index(parent)] += slices.dur_ns[row];
    for (uint32_t before = 0; before < row; ++before) {
      if (slices.start_ns[row] < slices.end_ns(before) &&
          slices.end_ns(row) > slices.end_ns(before)) {
        ++overlapping;
        break;
      }
    }
  }
  // A slice may overlap one that an earlier overlap has ended already: those are not counted again.
  EXPECT_LE(trace.stats().get(Stat::kSlicesOverlapping), overlapping);
  EXPECT_EQ(trace.stats().get(Stat::kSlicesOverlapping) > 0, overlapping > 0);

  Nesting nesting;
  uint32_t closed_count = 0;
  const auto on_close = [&](const Nesting::Slice& closed) {
    const uint32_t row = index(closed.row);
    ++closed_count;
    EXPECT_EQ(closed.children_ns, children_ns[row]);
    EXPECT_EQ(closed.self_ns() + closed.children_ns, slices.dur_ns[row]);
    EXPECT_EQ(nesting.stack().back().row, closed.row);
    const SliceId parent =
        nesting.stack().size() < 2 ? kNoSlice : nesting.stack()[nesting.stack().size() - 2].row;
    EXPECT_EQ(parent, slices.parent[row]);
  };
  for (uint32_t row = 0; row < slices.size(); ++row) {
    nesting.open(SliceId{row}, slices.label[row], slices.start_ns[row], slices.dur_ns[row],
                 on_close);
  }
  nesting.close_all(on_close);
  EXPECT_EQ(closed_count, slices.size());
}

TEST(Nesting, PutsASliceInTheInnermostOneThatHoldsIt) {
  const Trace trace = build({{0, 100}, {10, 50}, {20, 10}, {60, 40}, {100, 5}});
  EXPECT_EQ(trace.slices().parent,
            (std::vector<SliceId>{kNoSlice, SliceId{0}, SliceId{1}, SliceId{0}, kNoSlice}));
  EXPECT_EQ(trace.slices().depth, (std::vector<uint16_t>{0, 1, 2, 1, 0}));
  expect_sound_nesting(trace);
}

TEST(Nesting, KeepsOverlappingSlicesAsSiblingsAndCountsThem) {
  const Trace trace = build({{0, 10}, {5, 10}, {6, 2}});
  EXPECT_EQ(trace.slices().parent, (std::vector<SliceId>{kNoSlice, kNoSlice, SliceId{1}}));
  EXPECT_EQ(trace.stats().get(Stat::kSlicesOverlapping), 1u);
  expect_sound_nesting(trace);
}

TEST(Nesting, PutsTheLongerOfTwoThatStartTogetherOutside) {
  const Trace trace = build({{5, 1}, {5, 10}, {5, 3}, {5, 3}});
  EXPECT_EQ(trace.slices().dur_ns[0], 10);
  EXPECT_EQ(trace.slices().parent,
            (std::vector<SliceId>{kNoSlice, SliceId{0}, SliceId{1}, SliceId{2}}));
  EXPECT_EQ(trace.stats().get(Stat::kSlicesOverlapping), 0u);
}

TEST(Nesting, PutsAMomentInTheSliceThatIsOpenButNotInOneThatEnds) {
  const Trace trace = build({{0, 10}, {0, 0}, {10, 0}, {5, 0}, {5, 0}});
  EXPECT_EQ(trace.slices().parent,
            (std::vector<SliceId>{kNoSlice, SliceId{0}, SliceId{0}, SliceId{0}, kNoSlice}));
}

TEST(Nesting, EqualsTheSlowWayForRandomSlices) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Span> spans;
    const uint64_t range = 1 + random() % 60;
    const size_t count = random() % 60;
    for (size_t i = 0; i < count; ++i) {
      spans.push_back({static_cast<int64_t>(random() % range) - 20,
                       static_cast<int64_t>(random() % (1 + random() % range))});
    }
    const Trace trace = build(spans);
    ASSERT_EQ(trace.slices().size(), count);
    expect_sound_nesting(trace);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Nesting, AddsUpForRandomTreesWithoutOverlap) {
  std::mt19937_64 random(8);
  std::vector<Span> spans;
  const auto grow = [&](auto&& self, int64_t start, int64_t end, int depth) -> void {
    spans.push_back({start, end - start});
    int64_t at = start;
    while (depth < 8 && end - at > 2) {
      const int64_t from = at + static_cast<int64_t>(random() % static_cast<uint64_t>(end - at));
      const int64_t to =
          from + static_cast<int64_t>(random() % static_cast<uint64_t>(end - from + 1));
      self(self, from, to, depth + 1);
      at = to + 1;
    }
  };
  grow(grow, 0, 4000, 0);
  std::shuffle(spans.begin(), spans.end(), random);
  const Trace trace = build(spans);
  EXPECT_EQ(trace.stats().get(Stat::kSlicesOverlapping), 0u);
  expect_sound_nesting(trace);
}

TEST(Nesting, ClampsTheDepthOfAHundredThousandLevelsAndCounts) {
  std::vector<Span> spans;
  for (int64_t i = 0; i < 100'000; ++i) spans.push_back({i, 200'000 - 2 * i});
  const Trace trace = build(spans);
  EXPECT_EQ(trace.slices().depth[65'535], 65'535);
  EXPECT_EQ(trace.slices().depth[99'999], 65'535);
  EXPECT_EQ(trace.slices().parent[99'999], SliceId{99'998});
  EXPECT_EQ(trace.stats().get(Stat::kDepthClamped), 100'000u - 65'536u);
}

}  // namespace
}  // namespace stepscope
