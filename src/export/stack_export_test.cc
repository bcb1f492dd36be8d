#include "export/stack_export.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "export/callgrind.h"
#include "export/collapsed.h"
#include "export/flamegraph.h"
#include "export/pprof.h"
#include "export/speedscope.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

using Write = Result<std::vector<std::string>> (*)(const Trace&, const std::string&,
                                                   const ExportOptions&);

class StackExportTest : public testing::Test {
 protected:
  void call(const std::string& name, int64_t start_ns, int64_t dur_ns, int64_t tid = 1) {
    builder.add_slice(builder.add_thread({1}, {tid}), start_ns, dur_ns,
                      builder.label(name, "python_function", SliceKind::kPython));
  }

  // What the format writes of the trace; left_out gets its sentences.
  std::string written(Write write) {
    if (!trace) trace.emplace(std::move(builder).finish());
    const std::string path = testing::TempDir() + "stack_export_test.out";
    const auto result = write(*trace, path, options);
    EXPECT_TRUE(result.ok()) << result.status().message();
    if (result) left_out = *result;
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    std::remove(path.c_str());
    return text.str();
  }

  TraceBuilder builder;
  ExportOptions options;
  std::optional<Trace> trace;
  std::vector<std::string> left_out;
};

TEST_F(StackExportTest, CollapsedHasALinePerStackWithItsOwnTime) {
  call("/a.py(1): main", 0, 100);
  call("/a.py(9): f;g\n", 10, 30);
  call("<built-in method len>", 15, 5);
  call("/a.py(9): f;g\n", 50, 10);
  call("/a.py(1): main", 0, 40, 2);
  EXPECT_EQ(written(write_collapsed),
            "# stepscope: weights in ns\n"
            "main (/a.py:1) 100\n"
            "main (/a.py:1);f:g  (/a.py:9) 35\n"
            "main (/a.py:1);f:g  (/a.py:9);<built-in method len> 5\n");
  EXPECT_EQ(left_out, std::vector<std::string>{"the order of calls in time"});
}

TEST_F(StackExportTest, DeepRecursionIsCutWhereEveryLineIsAWholeStack) {
  constexpr int64_t kLevels = 20'000;
  for (int64_t i = 0; i < kLevels; ++i) call("f", i, 2 * kLevels - 2 * i);
  const std::string text = written(write_collapsed);
  EXPECT_LT(text.size(), 30u << 20);
  int64_t sum_ns = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('#')) sum_ns += std::stoll(line.substr(line.rfind(' ')));
  }
  EXPECT_EQ(sum_ns, 2 * kLevels);
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_NE(left_out[0].find("calls deeper than"), std::string::npos) << left_out[0];
}

TEST_F(StackExportTest, CallgrindCountsRecursionOnce) {
  call("/a.py(1): f", 0, 100);
  call("/a.py(1): f", 10, 50);
  call("/a.py(1): f", 20, 20);
  call("g", 70, 5);
  const std::string text = written(write_callgrind);
  EXPECT_NE(text.find("fl=(1) /a.py\nfn=(1) f\n1 95\n"
                      "cfl=(1)\ncfn=(1)\ncalls=2 1\n1 50\n"
                      "cfl=(2) ~\ncfn=(2) g\ncalls=1 0\n1 5\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nsummary: 100\n"), std::string::npos) << text;
}

TEST_F(StackExportTest, CallgrindTakesCallEdges) {
  const FrameId f = builder.add_frame({builder.string("f"), builder.string("a.py"), 3});
  const FrameId g = builder.add_frame({builder.string("g"), builder.string("a.py"), 7});
  builder.add_call_edge(kNoFrame, f, 1, 1, 10, 100);
  builder.add_call_edge(kNoFrame, g, 4, 4, 90, 90);
  builder.add_call_edge(f, g, 4, 4, 90, 90);
  const std::string text = written(write_callgrind);
  EXPECT_NE(text.find("fl=(1) a.py\nfn=(1) f\n3 10\ncfl=(1)\ncfn=(2) g\ncalls=4 7\n3 90\n"),
            std::string::npos)
      << text;
  for (const Write write : {write_collapsed, write_pprof, write_flamegraph, write_speedscope}) {
    const auto result = write(*trace, testing::TempDir() + "never_written", {});
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.status().message().find("but no stacks"), std::string::npos);
  }
}

TEST_F(StackExportTest, SpeedscopeNestsWhatOverlaps) {
  call("a.py(3): a", 1000, 50);
  call("b", 1040, 60);  // begins in a, ends after it
  const std::string text = written(write_speedscope);
  EXPECT_NE(text.find(R"("frames":[
{"name":"a","file":"a.py","line":3},
{"name":"b"}]})"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("startValue":0,"endValue":100,"events":[
{"type":"O","frame":0,"at":0},
{"type":"C","frame":0,"at":40},
{"type":"O","frame":1,"at":40},
{"type":"C","frame":1,"at":100}]})"),
            std::string::npos)
      << text;
  EXPECT_EQ(left_out,
            std::vector<std::string>{"the ends of 1 slices, which overlap the next in part"});
}

TEST_F(StackExportTest, FlamegraphEscapesWhatIsNoText) {
  call("<b>&\"x\"\x01\xff</script>", 0, 100);
  const std::string text = written(write_flamegraph);
  EXPECT_NE(text.find("<title>&lt;b&gt;&amp;&quot;x&quot;\xEF\xBF\xBD\xEF\xBF\xBD&lt;/script&gt;"),
            std::string::npos)
      << text;
}

TEST_F(StackExportTest, FlamegraphLeavesOutWhatCanNotBeSeenAndCountsIt) {
  call("main", 0, 100'000'000);
  for (int i = 0; i < 1000; ++i) call("f" + std::to_string(i), 10 + i * 100, 90);
  const std::string text = written(write_flamegraph);
  EXPECT_LT(text.size(), 20'000u);
  EXPECT_NE(text.find(">1000 frames are left out"), std::string::npos);
  ASSERT_EQ(left_out.size(), 2u);
  EXPECT_EQ(left_out[1], "1000 frames that are too narrow or too deep to be seen");
}

TEST_F(StackExportTest, FlamegraphIsBoundedWhateverTheTrace) {
  for (int64_t i = 0; i < 60'000; ++i) call("dive", i, 200'000 - i);
  EXPECT_LT(written(write_flamegraph).size(), 1u << 20);
}

TEST_F(StackExportTest, PprofIsGzip) {
  call("main", 0, 100);
  EXPECT_TRUE(written(write_pprof).starts_with("\x1f\x8b"));
}

TEST_F(StackExportTest, SaysWhatItHasNoPlaceFor) {
  call("main", 0, 100);
  const TrackId stream = builder.add_thread({0}, {7});
  builder.track(stream).kind = TrackKind::kStream;
  builder.add_slice(stream, 20, 10, builder.label("gemm", "", SliceKind::kKernel));
  builder.add_counter_value(builder.add_counter({1}, builder.string("m"), kEmptyString), 5, 1);
  written(write_collapsed);
  EXPECT_EQ(left_out, std::vector<std::string>{"the order of calls in time, what ran on device "
                                               "streams, 1 counter values"});
}

TEST_F(StackExportTest, SamplesWeighTheirCpuTimeUnlessAskedForWallTime) {
  const TrackId thread = builder.add_thread({1}, {1});
  const FrameId work = builder.add_frame({builder.string("work"), builder.string("a.py"), 9});
  const FrameId wait = builder.add_frame({builder.string("wait"), kEmptyString, 0});
  const StackId outer = builder.add_stack({kNoStack, work, 10});
  const StackId inner = builder.add_stack({outer, wait, 0});
  builder.add_sample(thread, 0, outer, 100, 70);
  builder.add_sample(thread, 100, builder.add_stack({kNoStack, work, 11}), 100, 90);
  builder.add_sample(thread, 200, inner, 500, 0, kSampleWaited, 5);
  EXPECT_EQ(written(write_collapsed), "# stepscope: weights in ns\nwork (a.py:9) 160\n");
  EXPECT_NE(written(write_speedscope).find("\"weights\":[70,90]"), std::string::npos);
  EXPECT_NE(written(write_callgrind).find("summary: 160\n"), std::string::npos);
  options.sample_weight = SampleWeight::kWall;
  EXPECT_EQ(written(write_collapsed),
            "# stepscope: weights in ns\nwork (a.py:9) 200\nwork (a.py:9);wait 500\n");
  EXPECT_NE(written(write_speedscope).find("\"weights\":[100,100,500]"), std::string::npos);
  EXPECT_NE(written(write_callgrind).find("summary: 700\n"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
