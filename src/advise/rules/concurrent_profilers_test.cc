#include <gtest/gtest.h>

#include "advise/advise.h"
#include "advise/rule_for_tests.h"
#include "analyze/hand_made_trace.h"

namespace stepscope::concurrent_profilers_test {
namespace {

TEST(ConcurrentProfilers, NamesThem) {
  HandMadeTrace made;
  made.op("aten::mm", 0, 100);
  made.add(made.thread(), "cProfile", "concurrent_profilers", SliceKind::kInstant, 10, 0);
  const Trace trace = made.build();
  const auto advice = Advice::of(trace);
  ASSERT_EQ(advice->findings.size(), 1u);
  EXPECT_EQ(advice->findings.front().id, "concurrent-profilers");
  EXPECT_EQ(advice->findings.front().severity, Severity::kInfo);
  EXPECT_TRUE(advice->findings.front().title.starts_with("cProfile"));
}

TEST(ConcurrentProfilers, KeepsQuietWhereThereAreNone) {
  HandMadeTrace made;
  made.op("cProfile", 0, 100);
  EXPECT_FALSE(find(check_concurrent_profilers, made.build()));
}

}  // namespace
}  // namespace stepscope::concurrent_profilers_test
