#include "trace/track_title.h"

#include <gtest/gtest.h>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

TEST(TrackTitle, NamesProcessAndLane) {
  TraceBuilder builder;
  const TrackId main = builder.add_thread(ForeignId{100}, ForeignId{101});
  builder.process(builder.add_process(ForeignId{100})).name = builder.string("python");
  builder.track(main).name = builder.string("MainThread");
  const TrackId stream = builder.add_thread(ForeignId{0}, ForeignId{7});
  builder.track(stream).kind = TrackKind::kStream;
  builder.track(stream).device = 0;
  builder.track(stream).stream = 7;
  const TrackId counter =
      builder.add_counter(ForeignId{100}, builder.string("memory"), builder.string("RSS"));
  const Trace trace = std::move(builder).finish();
  EXPECT_EQ(track_title(trace, main), "python 100 / thread 101 (MainThread)");
  EXPECT_EQ(track_title(trace, stream), "0 / device 0 / stream 7");
  EXPECT_EQ(track_title(trace, counter), "python 100 / memory.RSS");
  EXPECT_EQ(track_name(trace, stream), "stream 7");
}

TEST(TrackTitle, DoesNotRepeatTheNumberThatANameHas) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{42});
  builder.track(thread).name = builder.string("thread 42 (python) ");
  EXPECT_EQ(track_title(std::move(builder).finish(), thread), "1 / thread 42 (python)");
}

TEST(TrackTitle, NameIsWholeWhateverItHolds) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{42});
  builder.track(thread).name = builder.string("load / decode");
  EXPECT_EQ(track_name(std::move(builder).finish(), thread), "thread 42 (load / decode)");
}

}  // namespace
}  // namespace stepscope
