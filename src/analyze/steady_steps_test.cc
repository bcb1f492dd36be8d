#include "analyze/steady_steps.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyze/hand_made_trace.h"

namespace stepscope {
namespace {

SteadySteps find(const std::vector<int64_t>& durations_ns, int64_t before_ns = 0) {
  HandMadeTrace made;
  int64_t now_ns = 1000;
  made.op("aten::empty", now_ns, 1);
  now_ns += before_ns;
  int number = 0;
  for (const int64_t dur_ns : durations_ns) {
    made.step("ProfilerStep#" + std::to_string(number++), now_ns, dur_ns);
    now_ns += dur_ns;
  }
  const Trace trace = made.build();
  return SteadySteps::find(trace, *StepSpans::of(trace));
}

TEST(SteadySteps, FirstOneIsWarmUp) {
  const SteadySteps steady = find({100, 100, 100, 100, 100});
  EXPECT_EQ(steady.steps.size(), 4u);
  EXPECT_EQ(steady.warm_up_steps, 1u);
  EXPECT_EQ(steady.warm_up_ns, 0);
}

TEST(SteadySteps, SlowOnesAtTheBeginAreWarmUpUpToAThird) {
  const SteadySteps steady = find({900, 300, 200, 200, 100, 100, 100, 100, 100}, 5000);
  EXPECT_EQ(steady.warm_up_steps, 3u);
  EXPECT_EQ(steady.mean_ns, 700 / 6);
  EXPECT_EQ(steady.warm_up_ns, 900 + 300 + 200 - 3 * (700 / 6));
  EXPECT_EQ(steady.start_up_ns, 5000);
}

TEST(SteadySteps, SlowOnesLaterArePartOfTheTruth) {
  EXPECT_EQ(find({100, 100, 100, 500, 100}).mean_ns, 200);
}

TEST(SteadySteps, FewStepsAreAllCounted) { EXPECT_EQ(find({900, 100, 100}).steps.size(), 3u); }

TEST(SteadySteps, ATraceWithoutStepsHasNone) { EXPECT_TRUE(find({}).empty()); }

}  // namespace
}  // namespace stepscope
