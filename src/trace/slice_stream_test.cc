#include "trace/slice_stream.h"

#include <gtest/gtest.h>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

Trace build() {
  TraceBuilder builder;
  const TrackId first = builder.add_thread({1}, {1});
  builder.add_thread({1}, {2});
  const TrackId last = builder.add_thread({1}, {3});
  const LabelId label = builder.label("x", "", SliceKind::kOther);
  const ArgColumnRef n = builder.arg_column("n", ArgType::kInt);
  for (int64_t i = 0; i < 4; ++i) {
    const SliceRef a = builder.add_slice(first, i, 6'000'000'000 - 2 * i, label);
    const SliceRef b = builder.add_slice(last, i, i % 2 == 0 ? 5'000'000'000 - 2 * i : 0, label);
    if (i % 2 == 1) builder.add_int(n, a, i);
    builder.add_int(n, b, 10 + i);
  }
  builder.add_device({.id = 3});
  return std::move(builder).finish();
}

TEST(TraceSliceStream, GivesABlockPerTrackThatHasSlices) {
  const Trace trace = build();
  TraceSliceStream stream(trace);
  for (int round = 0; round < 2; ++round) {
    SliceBlock block;
    std::vector<uint32_t> tracks;
    uint32_t rows = 0;
    while (*stream.next(block)) {
      tracks.push_back(index(block.track));
      EXPECT_TRUE(block.starts_track);
      EXPECT_EQ(block.first_row, rows);
      for (size_t i = 0; i < block.size(); ++i, ++rows) {
        EXPECT_EQ(index(block.row(i)), rows);
        EXPECT_EQ(block.start_ns[i], trace.slices().start_ns[rows]);
        EXPECT_EQ(block.dur_ns(i), trace.slices().dur_ns[rows]);
        EXPECT_EQ(block.label[i], trace.slices().label[rows]);
      }
    }
    EXPECT_EQ(tracks, (std::vector<uint32_t>{0, 2}));
    EXPECT_EQ(rows, trace.slices().size());
    ASSERT_TRUE(stream.rewind().ok());
  }
  EXPECT_EQ(stream.devices().size(), 1u);
  EXPECT_EQ(stream.tracks().size(), 3u);
  EXPECT_EQ(stream.labels().size(), 1u);
}

TEST(ArgCursor, WalksTheValuesBesideTheRows) {
  const Trace trace = build();
  TraceSliceStream stream(trace);
  SliceBlock block;
  std::vector<int64_t> values;
  while (*stream.next(block)) {
    ArgCursor n(block, stream.strings(), "n", ArgType::kInt);
    ArgCursor missing(block, stream.strings(), "n", ArgType::kString);
    EXPECT_EQ(missing.column(), nullptr);
    for (size_t i = 0; i < block.size(); ++i) {
      values.push_back(n.find_int(block.row(i)).value_or(-1));
      EXPECT_EQ(missing.find_int(block.row(i)), std::nullopt);
    }
  }
  EXPECT_EQ(values, (std::vector<int64_t>{-1, 1, -1, 3, 10, 11, 12, 13}));
}

}  // namespace
}  // namespace stepscope
