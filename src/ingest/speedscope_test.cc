#include "ingest/speedscope.h"

#include <gtest/gtest.h>

#include <string>

#include "ingest/trace_for_tests.h"

namespace stepscope {
namespace {

std::string file(const std::string& profiles) {
  return R"({"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[)"
         R"({"name":"main","file":"a.py","line":3},{"name":"work"},{"name":"leaf","file":"b.c"}]},)"
         R"("name":"a run","profiles":[)" +
         profiles + "]}";
}

std::string evented(const std::string& events, const std::string& unit = "microseconds") {
  return R"({"type":"evented","name":"thread A","unit":")" + unit +
         R"(","startValue":0,"endValue":100,"events":[)" + events + "]}";
}

TEST(Speedscope, OpenedAndClosedFramesAreSlices) {
  const Trace trace = load_json(file(evented(
      R"({"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":1.5},{"type":"C","frame":1,"at":2},)"
      R"({"type":"O","frame":2,"at":2},{"type":"C","frame":2,"at":7},{"type":"C","frame":0,"at":10})")));
  EXPECT_EQ(trace.format(), "speedscope profile");
  EXPECT_EQ(slices_as_text(trace),
            "a.py(3): main 0+10000\n work 1500+500\n b.c(0): leaf 2000+5000\n");
  EXPECT_EQ(kind_of_slice(trace, "work"), SliceKind::kCall);
  EXPECT_EQ(trace.string(trace.tracks()[0].name), "thread A");
  EXPECT_EQ(trace.find_metadata("name"), "a run");
  EXPECT_EQ(trace.find_metadata("weight_unit"), "");
  EXPECT_FALSE(trace.stats().has_faults());
}

TEST(Speedscope, UnitsOfTimeBecomeNs) {
  const auto end_ns = [](const std::string& unit) {
    return load_json(file(evented(R"({"type":"O","frame":1,"at":0},{"type":"C","frame":1,"at":2})",
                                  unit)))
        .end_ns();
  };
  EXPECT_EQ(end_ns("nanoseconds"), 2);
  EXPECT_EQ(end_ns("milliseconds"), 2'000'000);
  EXPECT_EQ(end_ns("seconds"), 2'000'000'000);
  EXPECT_EQ(end_ns("none"), 2);
}

TEST(Speedscope, WeightedStacksAreSamplesOneAfterTheOther) {
  const Trace trace =
      load_json(file(R"({"type":"sampled","name":"B","unit":"seconds","startValue":1,"endValue":2,)"
                     R"("samples":[[0,1],[0],[0,1,2]],"weights":[0.25,0.5,0.25]})"));
  const SampleColumns& samples = trace.samples();
  EXPECT_EQ(samples.time_ns, (std::vector<int64_t>{1'000'000'000, 1'250'000'000, 1'750'000'000}));
  EXPECT_EQ(samples.weight_ns, (std::vector<int64_t>{250'000'000, 500'000'000, 250'000'000}));
  EXPECT_EQ(trace.stacks().size(), 3u);
  EXPECT_EQ(trace.frames()[0].line, 3);
}

TEST(Speedscope, ProfilesOfBytesSaySo) {
  const Trace trace =
      load_json(file(R"({"type":"sampled","name":"B","unit":"bytes","startValue":0,"endValue":9,)"
                     R"("samples":[[0]],"weights":[9]})"));
  EXPECT_EQ(trace.find_metadata("weight_unit"), "bytes");
  EXPECT_EQ(trace.stats().notes().size(), 1u);
}

TEST(Speedscope, ProfilesAreThreads) {
  const std::string one = evented(R"({"type":"O","frame":1,"at":0},{"type":"C","frame":1,"at":2})");
  EXPECT_EQ(load_json(file(one + "," + one)).tracks().size(), 2u);
}

TEST(Speedscope, FaultsAreMendedAndCounted) {
  const Trace trace = load_json(file(
      evented(R"({"type":"C","frame":1,"at":0},{"type":"O","frame":0,"at":10},)"
              R"({"type":"O","frame":1,"at":20},{"type":"C","frame":0,"at":30},)"
              R"({"type":"O","frame":9,"at":31},{"type":"X","frame":1,"at":32},5,)"
              R"({"type":"O","frame":1,"at":40},{"type":"O","frame":2,"at":35})",
              "nanoseconds") +
      R"(,7,{"type":"odd"},{"type":"evented"},)"
      R"({"type":"sampled","name":"","unit":"nanoseconds","samples":[[0,77],[1],"x"],"weights":[5]})"));
  EXPECT_EQ(slices_as_text(trace),
            "a.py(3): main 10+20\n work 20+10\nwork 40+60\n b.c(0): leaf 40+60\n");
  EXPECT_EQ(stat(trace, Stat::kEndsWithoutBegin), 1u);
  EXPECT_EQ(stat(trace, Stat::kBeginsWithoutEnd), 3u);
  EXPECT_EQ(stat(trace, Stat::kDurationsNegative), 1u);
  EXPECT_EQ(stat(trace, Stat::kEventsSkipped), 3u + 3u + 2u);
  EXPECT_EQ(stat(trace, Stat::kValuesSkipped), 1u);
  EXPECT_EQ(trace.samples().weight_ns, (std::vector<int64_t>{5}));
}

TEST(Speedscope, IsKnownByItsMembersInAnyOrder) {
  EXPECT_TRUE(looks_like_speedscope(R"({"exporter":"speedscope@1.2","profiles":[)"));
  EXPECT_TRUE(looks_like_speedscope(R"( {"version":"0.1","shared":{"frames":[)"));
  EXPECT_TRUE(looks_like_speedscope(R"({"name":"x","profiles":[{"type":"sampled",)"));
  EXPECT_TRUE(looks_like_speedscope(
      R"({"$schema": "https://www.speedscope.app/file-format-schema.json"})"));
  EXPECT_FALSE(looks_like_speedscope(R"({"traceEvents":[{"name":"$schema"}]})"));
  EXPECT_FALSE(looks_like_speedscope(R"({"$schema":"https://json-schema.org/x"})"));
  EXPECT_FALSE(looks_like_speedscope(R"({"profiles":[1,2]})"));
  EXPECT_FALSE(looks_like_speedscope(R"([{"name":1}])"));
  EXPECT_FALSE(looks_like_speedscope(R"({"a)"));
}

TEST(Speedscope, DamagedFilesAreOneClearLine) {
  EXPECT_TRUE(load_fault(R"({"exporter":"speedscope@1","profiles":[)")
                  .starts_with("test.json: a speedscope file, but not valid JSON: "));
  EXPECT_EQ(load_fault(R"({"exporter":"speedscope@1"})"),
            "test.json: a speedscope file without \"profiles\"");
}

TEST(Speedscope, ClosesWithoutOpensAreQuick) {
  std::string events;
  for (int i = 0; i < 60'000; ++i) events += R"({"type":"O","frame":0,"at":1},)";
  for (int i = 0; i < 60'000; ++i) events += R"({"type":"C","frame":1,"at":2},)";
  events.pop_back();
  const Trace trace = load_json(file(evented(events)));
  EXPECT_EQ(stat(trace, Stat::kEndsWithoutBegin), 60'000u);
  EXPECT_EQ(trace.slices().size(), 60'000u);
}

}  // namespace
}  // namespace stepscope
