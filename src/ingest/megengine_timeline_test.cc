#include "ingest/megengine_timeline.h"

#include <gtest/gtest.h>

#include <map>
#include <string_view>

#include "ingest/trace_for_tests.h"

namespace stepscope {
namespace {

TEST(MegEngineTimeline, SaysWhenItBegan) {
  EXPECT_EQ(find_megengine_local_time(R"({"localTime": "1794770668251341110"})"),
            1794770668251341110);
  EXPECT_EQ(find_megengine_local_time(R"({"localTime":1794770668251341110})"), 1794770668251341110);
  for (const char* none : {"", "{}", R"({"localTime")", R"({"localTime": "soon"})",
                           R"({"localTime": "99999999999999999999999"})"}) {
    EXPECT_EQ(find_megengine_local_time(none), std::nullopt) << none;
  }
}

TEST(MegEngineTimeline, MisspeltCountersAreFoundByTheirRightNames) {
  const Trace trace = load_json(R"({"traceEvents":[
    {"ph":"C","name":"gpu_usgae_ratio","pid":1,"tid":0,"ts":0,"args":{"value":8.5}},
    {"ph":"C","name":"nr_redunant_tensor","pid":1,"tid":0,"ts":0,"args":{"value":3}},
    {"ph":"C","name":"nr_redundant_tensor","pid":1,"tid":0,"ts":1,"args":{"value":4}}],
    "metadata":{"localTime":"1794770668251341110"}})");
  std::map<std::string_view, uint64_t> values;
  for (const Track& track : trace.tracks()) {
    if (track.kind == TrackKind::kCounter) values[trace.string(track.name)] += track.value_count;
  }
  EXPECT_EQ(values, (std::map<std::string_view, uint64_t>{{"gpu_usage_ratio", 1},
                                                          {"nr_redundant_tensor", 2}}));
  EXPECT_EQ(trace.clock_base_ns(), 1794770668251341110);
  EXPECT_EQ(trace.format(), "MegEngine timeline");
}

}  // namespace
}  // namespace stepscope
