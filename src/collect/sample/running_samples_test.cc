#include "collect/sample/running_samples.h"

#include <gtest/gtest.h>

namespace stepscope::sample {
namespace {

constexpr int64_t kMs = 1'000'000;

std::vector<int64_t> cpu_of(RunningSamples& running, uint64_t ran_ns, uint64_t queued_ns) {
  std::vector<int64_t> cpu_ns;
  running.release(ran_ns, queued_ns, [&](const Sample& s) { cpu_ns.push_back(s.cpu_ns); });
  return cpu_ns;
}

Sample look(int64_t weight_ns) {
  Sample sample;
  sample.weight_ns = weight_ns;
  return sample;
}

TEST(RunningSamples, BurnAllOfTheirTimeWhereNothingStoodInTheWay) {
  RunningSamples running;
  for (int i = 0; i < 4; ++i) running.add(look(kMs));
  EXPECT_EQ(cpu_of(running, 4 * kMs, 0), (std::vector<int64_t>(4, kMs)));
  EXPECT_TRUE(running.empty());
}

TEST(RunningSamples, ShareWhatTheThreadGotOfACore) {
  RunningSamples running;
  running.add(look(kMs));
  running.add(look(3 * kMs));
  EXPECT_EQ(cpu_of(running, 1 * kMs, 3 * kMs), (std::vector<int64_t>{kMs / 4, 3 * kMs / 4}));
}

TEST(RunningSamples, OfAThreadThatOnlyStoodInLineBurnNothing) {
  RunningSamples running;
  running.add(look(kMs));
  EXPECT_EQ(cpu_of(running, 0, 5 * kMs), (std::vector<int64_t>{0}));
}

TEST(RunningSamples, GoByTheLastShareWhereTheKernelTellsNothing) {
  RunningSamples running;
  running.add(look(kMs));
  EXPECT_EQ(cpu_of(running, 0, 0), (std::vector<int64_t>{kMs}));  // until then: all
  running.add(look(kMs));
  cpu_of(running, kMs, kMs);
  running.add(look(kMs));
  EXPECT_EQ(cpu_of(running, 0, 0), (std::vector<int64_t>{kMs / 2}));
}

}  // namespace
}  // namespace stepscope::sample
