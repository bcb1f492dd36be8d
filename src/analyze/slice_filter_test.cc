#include "analyze/slice_filter.h"

#include "trace/trace_builder.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

Trace make_trace() {
  TraceBuilder builder;
  const TrackId main = builder.add_thread(ForeignId{100}, ForeignId{101});
  builder.process(builder.add_process(ForeignId{100})).name = builder.string("python");
  builder.track(main).name = builder.string("MainThread");
  const TrackId stream = builder.add_thread(ForeignId{0}, ForeignId{7});
  builder.track(stream).kind = TrackKind::kStream;
  builder.track(stream).device = 0;
  builder.track(stream).stream = 7;
  const LabelId label = builder.label("x", "", SliceKind::kCall);
  builder.add_slice(main, 1000, 10, label);
  builder.add_slice(stream, 2000, 10, label);
  return std::move(builder).finish();
}

TableOptions on_track(std::string track) {
  TableOptions options;
  options.track = std::move(track);
  return options;
}

TEST(SliceFilter, TakesAllByDefault) {
  const auto filter = SliceFilter::make(make_trace(), {});
  ASSERT_TRUE(filter.ok());
  EXPECT_TRUE(filter->takes_all());
  EXPECT_TRUE(filter->takes_track(TrackId{1}));
  EXPECT_TRUE(filter->takes_time(INT64_MIN));
}

TEST(SliceFilter, TakesTracksByExpressionOrNumber) {
  const Trace trace = make_trace();
  for (const char* track : {"python.*Main", "0", "101"}) {
    const auto filter = SliceFilter::make(trace, on_track(track));
    ASSERT_TRUE(filter.ok()) << track;
    EXPECT_TRUE(filter->takes_track(TrackId{0})) << track;
    EXPECT_FALSE(filter->takes_track(TrackId{1})) << track;
  }
  const auto stream = SliceFilter::make(trace, on_track("7"));
  ASSERT_TRUE(stream.ok());
  EXPECT_TRUE(stream->takes_track(TrackId{1}));
}

TEST(SliceFilter, TrackThatMatchesNothingIsAnError) {
  const auto filter = SliceFilter::make(make_trace(), on_track("nowhere"));
  ASSERT_FALSE(filter.ok());
  EXPECT_EQ(filter.status().message(),
            "--track: no track matches 'nowhere'; the view tracks lists them");
}

TEST(SliceFilter, RangeCountsFromTheBeginOfTheTraceAndIsHalfOpen) {
  TableOptions options;
  options.range = {0, 1000};
  const auto filter = SliceFilter::make(make_trace(), options);
  ASSERT_TRUE(filter.ok());
  EXPECT_TRUE(filter->takes_time(1000));
  EXPECT_TRUE(filter->takes_time(1999));
  EXPECT_FALSE(filter->takes_time(2000));
}

TEST(SliceFilter, RangeThatBeginsAfterItsEndIsAnError) {
  TableOptions options;
  options.range = {5, 4};
  EXPECT_FALSE(SliceFilter::make(make_trace(), options).ok());
}

}  // namespace
}  // namespace stepscope
