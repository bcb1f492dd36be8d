#include "export/timeline_svg.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "export/export.h"
#include "export/text_for_tests.h"
#include "export/timeline_layout.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

class SmallTimeline {
 public:
  SmallTimeline() : thread_(builder_.add_thread(ForeignId{1}, ForeignId{2})) {}

  TraceBuilder& builder() { return builder_; }
  void add(std::string_view name, int64_t start_ns, int64_t dur_ns,
           SliceKind kind = SliceKind::kOperator) {
    builder_.add_slice(thread_, start_ns, dur_ns, builder_.label(name, "", kind));
  }
  void count(std::string_view name, std::initializer_list<std::pair<int64_t, double>> values) {
    const TrackId id =
        builder_.add_counter(ForeignId{1}, builder_.string(name), builder_.string("value"));
    for (const auto& [time_ns, value] : values) builder_.add_counter_value(id, time_ns, value);
  }
  Trace build() { return std::move(builder_).finish(); }

 private:
  TraceBuilder builder_;
  TrackId thread_;
};

std::string picture_of(const Trace& trace) {
  const std::string path = ::testing::TempDir() + "timeline_svg_test.svg";
  const auto left_out = write_timeline_svg(trace, path);
  EXPECT_TRUE(left_out.ok());
  return take_text(path);
}

TEST(TimelineLayout, ShortSlicesOfABucketAreOneBox) {
  SmallTimeline made;
  made.add("whole", 0, 1'000'000);
  for (int i = 0; i < 100; ++i) made.add(i == 7 ? "longest" : "short", 20 * i, i == 7 ? 15 : 10);
  made.add("long", 500'000, 100'000);
  const Trace trace = made.build();
  TimelineLimits limits;
  limits.buckets = 100;
  const TimelineLayout layout = TimelineLayout::build(trace, limits);
  ASSERT_EQ(layout.tracks.size(), 1u);
  ASSERT_EQ(layout.tracks[0].boxes.size(), 3u);
  EXPECT_EQ(layout.tracks[0].levels, 2);
  const TimelineBox& box = layout.tracks[0].boxes[1];
  EXPECT_EQ(box.count, 100u);
  EXPECT_EQ(trace.slice_name(box.slice), "longest");
  EXPECT_EQ(box.begin_ns, 0);
  EXPECT_EQ(box.end_ns, 1'990);
  EXPECT_EQ(layout.merged_slices, 100u);
  EXPECT_EQ(layout.merged_boxes, 1u);
}

TEST(TimelineLayout, BucketsGrowUntilAllBoxesFit) {
  SmallTimeline made;
  for (int i = 0; i < 10'000; ++i) made.add("work", 100 * i, 60);
  const Trace trace = made.build();
  TimelineLimits limits;
  limits.buckets = 1'000'000;
  limits.boxes = 500;
  const TimelineLayout layout = TimelineLayout::build(trace, limits);
  EXPECT_LE(layout.tracks[0].boxes.size(), 500u);
  EXPECT_GE(layout.tracks[0].boxes.size(), 250u);
  EXPECT_EQ(layout.merged_slices, 10'000u);
}

TEST(TimelineLayout, TellsWhatIsTooDeepAndWhichTracksAreLeftOut) {
  SmallTimeline made;
  for (int i = 0; i < 20; ++i) made.add("f", i, 1'000 - 2 * i);
  made.count("little", {{0, 1}});
  const Trace trace = made.build();
  TimelineLimits limits;
  limits.most_levels = 12;
  limits.tracks = 1;
  const TimelineLayout layout = TimelineLayout::build(trace, limits);
  EXPECT_EQ(layout.too_deep, 8u);
  EXPECT_EQ(layout.tracks[0].levels, 12);
  EXPECT_EQ(layout.left_out_tracks, 1u);
}

TEST(TimelineSvg, HasBoxesNamesStepsAndCurves) {
  SmallTimeline made;
  made.add("ProfilerStep#1", 0, 500'000, SliceKind::kStep);
  made.add("ProfilerStep#2", 500'000, 500'000, SliceKind::kStep);
  made.add("std::vector<int> & \"more\"\x01", 100'000, 200'000);
  made.count("memory",
             {{0, 0}, {200'000, 5e9}, {400'000, std::numeric_limits<double>::quiet_NaN()}});
  const std::string text = picture_of(made.build());
  EXPECT_EQ(count_of(text, "class=\"b "), 3u);
  EXPECT_EQ(count_of(text, "class=\"step\""), 2u);
  EXPECT_EQ(count_of(text, "class=\"curve\""), 1u);
  EXPECT_NE(text.find("std::vector&lt;int&gt; &amp; &quot;more&quot;"), std::string::npos);
  EXPECT_EQ(text.find('\x01'), std::string::npos);
  EXPECT_NE(text.find("200 us at 100 us"), std::string::npos);
  EXPECT_NE(text.find(">5G<"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

TEST(TimelineSvg, TimesAtTheEndsOfTheRangeAreDrawn) {
  SmallTimeline made;
  made.add("far", 9'000'000'000'000'000'000, 200'000'000'000'000'000);
  made.add("near", -9'000'000'000'000'000'000, 5);
  const std::string text = picture_of(made.build());
  EXPECT_EQ(count_of(text, "class=\"b "), 2u);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(text.find("inf"), std::string::npos);
}

TEST(TimelineSvg, SaysThatThereIsNothingToDraw) {
  const auto result = write_timeline_svg(SmallTimeline().build(), "-");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("no timeline"), std::string::npos);
}

TEST(ExportFormats, AreFoundByNameAndByWhatFilesAreCalled) {
  EXPECT_EQ(find_export_format("timeline"), find_export_format("timeline.svg"));
  EXPECT_EQ(find_export_format("flamegraph.svg")->name, "flamegraph");
  EXPECT_EQ(find_export_format("svg")->name, "flamegraph");
  EXPECT_EQ(find_export_format("speedscope.json")->name, "speedscope");
  EXPECT_EQ(find_export_format("nothing.svg"), nullptr);
  EXPECT_EQ(find_export_format_of_path("a/run.timeline.svg")->name, "timeline");
  EXPECT_EQ(find_export_format_of_path("timeline.svg")->name, "timeline");
  EXPECT_EQ(find_export_format_of_path("run.svg")->name, "flamegraph");
}

}  // namespace
}  // namespace stepscope
