#include <gtest/gtest.h>

#include "advise/advise.h"
#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"

namespace stepscope::profiler_overhead_test {
namespace {

// Steps of 1 ms; an operator costs 0.35 us to record on this machine.
Trace make_recording(int operators) {
  HandMadeGpuLoop loop;
  loop.made.builder().set_format(std::string(kRecordingFormat));
  loop.made.builder().add_metadata("clock_read_ns", "20.6", false);
  for (int i = 0; i < 6; ++i) {
    loop.begin_step();
    for (int k = 0; k < operators; ++k) {
      loop.made.op("aten::add", (loop.now_us + k) * 1000, 900);
    }
    loop.now_us += 1000;
    loop.end_step();
  }
  return loop.made.build();
}

TEST(ProfilerOverhead, FiresAboveAFifthOfTheStep) {
  const Trace trace = make_recording(700);
  const auto finding = find(check_profiler_overhead, trace);
  ASSERT_TRUE(finding);
  EXPECT_NEAR(figure(*finding, "share"), 0.25, 0.01);
  for (const Finding& told : Advice::of(trace)->findings) {
    if (told.id == "profiler-overhead") {
      EXPECT_EQ(told.severity, Severity::kInfo);
      return;
    }
  }
  FAIL() << "it is told though nothing is at stake";
}

TEST(ProfilerOverhead, KeepsQuietBelow) {
  EXPECT_FALSE(find(check_profiler_overhead, make_recording(500)));
}

TEST(ProfilerOverhead, BelievesOtherTools) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 6; ++i) {
    loop.begin_step();
    loop.made.add(loop.made.thread(), "Instrumentation", "overhead", SliceKind::kOverhead,
                  (loop.now_us + 100) * 1000, 250'000);
    loop.now_us += 1000;
    loop.end_step();
  }
  const auto finding = find(check_profiler_overhead, loop.made.build());
  ASSERT_TRUE(finding);
  EXPECT_NEAR(figure(*finding, "share"), 0.25, 0.01);
}

}  // namespace
}  // namespace stepscope::profiler_overhead_test
