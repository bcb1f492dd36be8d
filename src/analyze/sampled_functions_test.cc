#include "analyze/sampled_functions.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/render.h"
#include "analyze/render_text.h"
#include "analyze/sampled_threads.h"
#include "analyze/views.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(ShareInterval, IsWilsons) {
  // Of R's prop.test(x, n, correct = FALSE).
  const auto expect = [](double successes, double samples, double low, double high) {
    const ShareInterval interval = share_interval_95(successes / samples, samples);
    EXPECT_NEAR(interval.low, low, 5e-5) << successes << " of " << samples;
    EXPECT_NEAR(interval.high, high, 5e-5) << successes << " of " << samples;
  };
  expect(8, 10, 0.4902, 0.9433);
  expect(0, 10, 0.0, 0.2775);
  expect(10, 10, 0.7225, 1.0);
  expect(500, 1000, 0.4691, 0.5309);
  expect(10, 1000, 0.0054, 0.0183);
  EXPECT_EQ(share_interval_95(0.5, 0).low, 0);
  EXPECT_EQ(share_interval_95(0.5, 0).high, 1);
}

// A main thread that works for 60 ticks of 10 ms at two lines and 20 in a callee, and a thread that
// waits all the time.
class SampledProgram : public testing::Test {
 protected:
  SampledProgram() {
    builder.add_metadata("sampling", R"({"period_ns": 10000000, "ticks": 100})", true);
    const TrackId main = builder.add_thread(ForeignId{1}, ForeignId{1});
    const TrackId waiter = builder.add_thread(ForeignId{1}, ForeignId{2});
    builder.track(main).name = builder.string("MainThread");
    builder.track(waiter).name = builder.string("waiter");
    const FrameId run = frame("run", 1), step = frame("step", 10), wait = frame("wait", 20);
    const StackId line_3 = builder.add_stack({kNoStack, run, 3});
    const StackId line_4 = builder.add_stack({kNoStack, run, 4});
    const StackId inner = builder.add_stack({line_4, step, 12});
    const StackId again = builder.add_stack({inner, step, 13});
    for (int64_t tick = 0; tick < 80; ++tick) {
      const StackId stack = tick < 20 ? line_3 : tick < 60 ? line_4 : tick < 70 ? inner : again;
      builder.add_sample(main, tick * 10 * kMs, stack, 10 * kMs, 8 * kMs,
                         tick < 40 ? kSampleHeldGil : 0);
    }
    builder.add_sample(waiter, 0, builder.add_stack({kNoStack, wait, 21}), 1000 * kMs, 0,
                       kSampleWaited, 100);
    builder.stats().add(Stat::kSamplerTicks, 100);
    builder.stats().add(Stat::kTicksMissed, 20);
  }

  FrameId frame(std::string_view name, int32_t line) {
    return builder.add_frame({builder.string(name), builder.string("/src/a.py"), line});
  }
  const Trace& trace() {
    if (!trace_) trace_.emplace(std::move(builder).finish());
    return *trace_;
  }
  Table view(std::string_view name, const TableOptions& options = {}) {
    auto table = make_view(trace(), name, options);
    EXPECT_TRUE(table.ok()) << table.status().message();
    return *std::move(table);
  }
  // "run 60 samples 75% self 480 of 640 ms CPU, 600 of 800 ms": in ms.
  static std::string text(const Table& table) {
    std::string lines;
    for (size_t row = 0; row < table.rows(); ++row) {
      const auto ms = [&](const char* name) {
        return std::to_string(table.find(name)->get_int(row) / kMs);
      };
      lines += table.find("name")->get_string(row) + ":" +
               std::to_string(table.find("line")->get_int(row)) + " " +
               std::to_string(table.find("samples")->get_int(row)) + " samples, CPU " +
               ms("self_cpu_ns") + " of " + ms("total_cpu_ns") + ", wall " + ms("self_ns") +
               " of " + ms("total_ns") + "\n";
    }
    return lines;
  }

  TraceBuilder builder;

 private:
  std::optional<Trace> trace_;
};

TEST_F(SampledProgram, FunctionsAreInOrderOfTheirOwnCpuTime) {
  const Table table = view("functions");
  EXPECT_EQ(text(table),
            "run:1 60 samples, CPU 480 of 640, wall 600 of 800\n"
            "step:10 20 samples, CPU 160 of 160, wall 200 of 200\n"
            "wait:20 0 samples, CPU 0 of 0, wall 1000 of 1000\n");
  EXPECT_TRUE(table.find("calls")->is_null(0));
  EXPECT_DOUBLE_EQ(table.find("share")->get_double(0), 0.75);
  const ShareInterval interval = share_interval_95(0.75, 80);
  EXPECT_DOUBLE_EQ(table.find("share_low")->get_double(0), interval.low);
  EXPECT_DOUBLE_EQ(table.find("share_high")->get_double(0), interval.high);
  EXPECT_DOUBLE_EQ(table.find("gil_fraction")->get_double(0), 40.0 / 60);
  EXPECT_DOUBLE_EQ(table.find("gil_fraction")->get_double(1), 0);
  EXPECT_TRUE(table.find("gil_fraction")->is_null(2));
  EXPECT_EQ(table.stats.get(Stat::kTicksMissed), 20u);
}

TEST_F(SampledProgram, ByWallTimeWaitingCounts) {
  TableOptions options;
  options.weight = "wall";
  const Table table = view("functions", options);
  EXPECT_EQ(table.find("name")->get_string(0), "wait");
  EXPECT_DOUBLE_EQ(table.find("share")->get_double(0), 1000.0 / 1800);
  EXPECT_EQ(table.find("samples")->get_int(0), 100);
  options.weight = "both";
  EXPECT_FALSE(make_view(trace(), "functions", options).ok());
}

TEST_F(SampledProgram, ByLineAFunctionHasARowForEach) {
  TableOptions options;
  options.by = "line";
  options.filter = "run|step";
  EXPECT_EQ(text(view("functions", options)),
            "run:4 40 samples, CPU 320 of 480, wall 400 of 600\n"
            "run:3 20 samples, CPU 160 of 160, wall 200 of 200\n"
            "step:12 10 samples, CPU 80 of 160, wall 100 of 200\n"
            "step:13 10 samples, CPU 80 of 80, wall 100 of 100\n");
}

TEST_F(SampledProgram, ByThreadSharesAreOfTheThread) {
  TableOptions options;
  options.by = "thread";
  const Table table = view("functions", options);
  ASSERT_EQ(table.rows(), 3u);
  EXPECT_NE(table.find("thread")->get_string(0).find("MainThread"), std::string::npos);
  EXPECT_DOUBLE_EQ(table.find("share")->get_double(0), 0.75);
  EXPECT_NE(table.find("thread")->get_string(2).find("waiter"), std::string::npos);
}

TEST_F(SampledProgram, TheTableFitsInto80Columns) {
  std::string out;
  TextStyle style;
  style.width = 80;
  render_text(view("functions"), style, [&](std::string_view chunk) { out += chunk; });
  EXPECT_NE(out.find("75.0% ±"), std::string::npos) << out;
  EXPECT_NE(out.find("a.py:1"), std::string::npos) << out;
  EXPECT_NE(out.find("20 of 100 ticks of the sampler were missed"), std::string::npos) << out;
}

TEST_F(SampledProgram, CallersAndTreeCountCpuTime) {
  const Table callers = view("callers");
  ASSERT_EQ(callers.rows(), 2u);  // run -> step, step -> step
  EXPECT_EQ(callers.find("caller")->get_string(0), "run");
  EXPECT_EQ(callers.find("total_ns")->get_int(0), 160 * kMs);
  TableOptions wall;
  wall.weight = "wall";
  EXPECT_EQ(view("callers", wall).find("total_ns")->get_int(0), 200 * kMs);
  EXPECT_EQ(view("tree").find("name")->get_string(0), "run");
  EXPECT_EQ(view("tree", wall).find("name")->get_string(0), "wait");
}

TEST_F(SampledProgram, TracksSayWhoWorkedAndWhoWaited) {
  const Table table = view("tracks");
  ASSERT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.find("samples")->get_int(0), 80);
  EXPECT_EQ(table.find("cpu_ns")->get_int(0), 640 * kMs);
  EXPECT_EQ(table.find("waiting_ns")->get_int(0), 0);
  EXPECT_EQ(table.find("waiting_ns")->get_int(1), 1000 * kMs);
  EXPECT_EQ(sampling_text(trace()),
            "100 times a second: 180 samples of 2 threads, 20 of 100 ticks missed");
}

TEST_F(SampledProgram, TheOverviewSaysHowItWasSampled) {
  const Table table = view("overview");
  std::string text;
  for (size_t row = 0; row < table.rows(); ++row) {
    text +=
        table.find("section")->get_string(row) + "/" + table.find("name")->get_string(row) + "\n";
  }
  EXPECT_NE(text.find("trace/sampled\n"), std::string::npos) << text;
  EXPECT_NE(text.find("CPU by thread/"), std::string::npos) << text;
  EXPECT_NE(text.find("top functions, CPU/run\n"), std::string::npos) << text;
}

TEST_F(SampledProgram, MarksBesideSamplesAreNoFunctions) {
  const TrackId main = builder.add_thread(ForeignId{1}, ForeignId{1});
  builder.add_slice(main, 0, 800 * kMs, builder.label("epoch", "", SliceKind::kAnnotation));
  EXPECT_EQ(view("functions").find("name")->get_string(0), "run");
  EXPECT_EQ(view("callers").rows(), 2u);
  EXPECT_EQ(view("tree").find("name")->get_string(0), "run");
}

TEST_F(SampledProgram, RecordedCallsAreExactAndGoFirst) {
  const TrackId main = builder.add_thread(ForeignId{1}, ForeignId{1});
  builder.add_slice(main, 0, 800 * kMs, builder.label("/a.py(1): f", "", SliceKind::kPython));
  const Table table = view("functions");
  ASSERT_EQ(table.rows(), 1u);
  EXPECT_EQ(table.find("calls")->get_int(0), 1);
  TableOptions options;
  options.by = "line";
  EXPECT_FALSE(make_view(trace(), "functions", options).ok());
}

TEST(SampledFunctions, SamplesOfUnequalWeightAreLessSure) {
  TraceBuilder builder;
  builder.add_metadata("sampling", "{}", true);
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  const FrameId f = builder.add_frame({builder.string("f"), kEmptyString, 1});
  const StackId stack = builder.add_stack({kNoStack, f});
  for (const int64_t cpu_ns : {100, 100, 100, 1}) builder.add_sample(thread, 0, stack, 100, cpu_ns);
  const Trace trace = std::move(builder).finish();
  const SampledFunctions sampled = build_sampled_functions(trace, {}, SampledBy::kFunction);
  EXPECT_NEAR(sampled.effective_samples, 301.0 * 301 / 30'001, 1e-9);
}

// Rows of an imported file may be any number of samples: it does not say how sure they are.
TEST(SampledFunctions, ImportedSamplesHaveSharesButNoIntervals) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  const FrameId f = builder.add_frame({builder.string("f"), kEmptyString, 1});
  builder.add_sample(thread, 0, builder.add_stack({kNoStack, f}), 500);
  const auto table = functions(std::move(builder).finish(), {});
  ASSERT_TRUE(table.ok());
  EXPECT_DOUBLE_EQ(table->find("share")->get_double(0), 1);
  EXPECT_TRUE(table->find("share_low")->is_null(0));
  EXPECT_TRUE(table->find("samples")->is_null(0));
  EXPECT_TRUE(table->find("self_cpu_ns")->is_null(0));
  EXPECT_EQ(table->find("self_ns")->get_int(0), 500);
}

}  // namespace
}  // namespace stepscope
