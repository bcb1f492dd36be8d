#include "analyze/line_times.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

constexpr int64_t kMs = 1'000'000;

// A main thread whose calls are recorded, a thread that works and one that waits.
class LineTimesTest : public testing::Test {
 protected:
  LineTimesTest()
      : main_(builder_.add_thread(ForeignId{1}, ForeignId{1})),
        other_(builder_.add_thread(ForeignId{1}, ForeignId{2})) {
    builder_.add_slice(main_, 0, 1000 * kMs,
                       builder_.label("/src/a.py(1): run", "python", SliceKind::kPython));
    run_ = frame("run", "/src/a.py", 1);
    library_ = frame("dumps", "/usr/lib/python3.11/json/__init__.py", 183);
    comprehension_ = frame("run.<locals>.<listcomp>", "/src/a.py", 4);
  }

  FrameId frame(std::string_view name, std::string_view file, int32_t line) {
    return builder_.add_frame({builder_.string(name), builder_.string(file), line});
  }
  StackId at(FrameId function, int32_t line, StackId parent = kNoStack) {
    return builder_.add_stack({parent, function, line});
  }
  void look(TrackId track, StackId stack, uint8_t flags, int64_t weight_ns = 20 * kMs) {
    builder_.add_sample(track, time_ns_, stack, weight_ns, weight_ns / 2,
                        flags | kSampleBesideCalls);
    time_ns_ += 20 * kMs;
  }
  // "run:3 40+20+0 ms", lines separated by "; ".
  static std::string text(const Trace& trace, const LineTimes& times) {
    std::string text;
    for (const LineTime& line : times.all()) {
      const auto ms = [](int64_t ns) { return std::to_string(ns / kMs); };
      text += (text.empty() ? "" : "; ") +
              std::string(trace.string(trace.frames()[index(line.function)].name)) + ":" +
              std::to_string(line.line) + " " + ms(line.python_ns) + "+" + ms(line.native_ns) +
              "+" + ms(line.waiting_ns);
    }
    return text;
  }

  TraceBuilder builder_;
  TrackId main_, other_;
  FrameId run_{}, library_{}, comprehension_{};
  int64_t time_ns_ = 0;
};

TEST_F(LineTimesTest, ALookCountsForTheLineOfTheProgramsInnermostFunction) {
  look(main_, at(run_, 3), kSampleHeldGil);
  look(main_, at(library_, 231, at(run_, 3)), kSampleHeldGil);
  look(main_, at(library_, 231, at(run_, 3)), 0);
  look(main_, at(comprehension_, 4, at(run_, 4)), kSampleHeldGil);
  look(main_, at(run_, 5), kSampleWaited);
  look(main_, at(library_, 231), kSampleHeldGil);  // at the library alone
  const Trace trace = std::move(builder_).finish();
  const LineTimes times(trace, {});
  EXPECT_EQ(text(trace, times), "run:3 40+20+0; run:4 20+0+0; run:5 0+0+20");
  EXPECT_EQ(times.looks(), 6u);
  EXPECT_EQ(times.total_ns(), 120 * kMs);
  EXPECT_EQ(times.of({"run", "/src/a.py", 1}).size(), 3u);
  EXPECT_EQ(times.of({"run", "/src/a.py", 2}).size(), 0u);
  EXPECT_EQ(times.of({"run", "/src/b.py", 1}).size(), 0u);
}

TEST_F(LineTimesTest, OnlyMainThreadsCountWhileTheyWait) {
  look(main_, at(run_, 3), kSampleWaited);
  look(other_, at(run_, 4), kSampleWaited);
  look(other_, at(run_, 5), 0);
  const Trace trace = std::move(builder_).finish();
  EXPECT_EQ(text(trace, LineTimes(trace, {})), "run:3 0+0+20; run:5 0+20+0");
}

TEST_F(LineTimesTest, AForkedWorkersLinesAreThoseAfterItsBegin) {
  const FrameId begin =
      frame("BaseProcess._bootstrap", "/usr/lib/python3.11/multiprocessing/process.py", 291);
  const FrameId item = frame("Pictures.__getitem__", "/src/a.py", 20);
  const TrackId worker = builder_.add_thread(ForeignId{9}, ForeignId{9});
  const StackId idle = at(library_, 5, at(begin, 314, at(run_, 3)));
  look(worker, idle, kSampleWaited);
  look(worker, at(item, 22, idle), kSampleWaited);
  look(worker, at(item, 23, idle), kSampleHeldGil);
  look(worker, idle, kSampleHeldGil);
  const Trace trace = std::move(builder_).finish();
  const LineTimes times(trace, {});
  EXPECT_EQ(text(trace, times), "Pictures.__getitem__:22 0+0+20; Pictures.__getitem__:23 20+0+0");
  EXPECT_EQ(times.looks(), 3u);
}

TEST_F(LineTimesTest, LooksBesideCallsAreNoSamplesAndDoNotMakeTheTraceLonger) {
  time_ns_ = 5000 * kMs;
  look(main_, at(run_, 3), kSampleHeldGil);
  const Trace trace = std::move(builder_).finish();
  EXPECT_EQ(trace.samples().size(), 0u);
  EXPECT_EQ(trace.line_samples().size(), 1u);
  EXPECT_EQ(trace.end_ns(), 1000 * kMs);
}

TEST_F(LineTimesTest, TheViewHasTheStateOfEachLineAndARange) {
  look(main_, at(run_, 3), kSampleHeldGil);
  look(main_, at(run_, 3), 0);
  look(main_, at(run_, 3), 0);
  look(main_, at(run_, 7), kSampleHeldGil);
  const Trace trace = std::move(builder_).finish();
  auto table = make_view(trace, "lines", {});
  ASSERT_TRUE(table.ok()) << table.status().message();
  ASSERT_EQ(table->rows(), 2u);
  EXPECT_EQ(int_at(*table, "line", 0), 3);
  EXPECT_EQ(int_at(*table, "self_ns", 0), 60 * kMs);
  EXPECT_EQ(int_at(*table, "samples", 0), 3);
  EXPECT_DOUBLE_EQ(table->find("share")->get_double(0), 0.75);
  EXPECT_DOUBLE_EQ(table->find("native_fraction")->get_double(0), 2.0 / 3);
  TableOptions first;
  first.range = {0, 10 * kMs};
  table = make_view(trace, "lines", first);
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(int_at(*table, "self_ns", 0), 20 * kMs);
}

TEST_F(LineTimesTest, WithoutLooksTheViewSaysWhoTakesThem) {
  const Trace trace = std::move(builder_).finish();
  const auto table = make_view(trace, "lines", {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->rows(), 0u);
  ASSERT_EQ(table->notes.size(), 1u);
  EXPECT_EQ(table->notes[0], "no samples: stepscope run and stepscope record take them");
}

}  // namespace
}  // namespace stepscope
