#include "analyze/diff.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/hand_made_trace.h"

namespace stepscope {
namespace {

constexpr int kSteps = 9;  // the first one is to warm up

// Steps of 1 us with an operator on each of two threads, of 100 and 300 ns in turn, and `more_ns`.
Trace make_on_two_threads(int64_t more_ns) {
  HandMadeTrace made;
  const TrackId thread = made.builder().add_thread(ForeignId{1}, ForeignId{9});
  for (int64_t i = 0; i < kSteps; ++i) {
    const int64_t dur_ns = (i % 2 == 0 ? 100 : 300) + more_ns;
    made.step("ProfilerStep#" + std::to_string(i), i * 1000, 1000);
    made.op("aten::mm", i * 1000 + 10, dur_ns);
    made.add(thread, "aten::mm", "cpu_op", SliceKind::kOperator, i * 1000 + 10, dur_ns);
  }
  return made.build();
}

TEST(Diff, NoiseIsOfStepsAndNotOfThreads) {
  const Trace before = make_on_two_threads(0);
  const Trace after = make_on_two_threads(10);
  const Result<Diff> diff = compare(before, after, {});
  ASSERT_TRUE(diff.ok());
  const size_t row = find_row(diff->table, "name", "aten::mm");
  EXPECT_EQ(int_at(diff->table, "before_ns", row), 400);
  EXPECT_EQ(int_at(diff->table, "after_ns", row), 420);
  EXPECT_EQ(int_at(diff->table, "certain", row), 0);
}

// A kernel that reaches from one step into the next is part of both.
TEST(Diff, WorkAcrossTheEndOfAStepCountsInBoth) {
  const auto make = [](int64_t kernel_ns) {
    HandMadeTrace made;
    for (int64_t i = 0; i < kSteps; ++i) {
      made.step("ProfilerStep#" + std::to_string(i), i * 1000, 1000);
      made.op("aten::mm", i * 1000 + 10, 500);
      made.kernel("gemm", i * 1000 + 800, kernel_ns, 0);
    }
    return made.build();
  };
  const Trace before = make(100);
  const Trace after = make(600);
  const Result<Diff> diff = compare(before, after, {});
  ASSERT_TRUE(diff.ok());
  const size_t row = find_row(diff->table, "name", "gemm");
  EXPECT_EQ(int_at(diff->table, "before_ns", row), 100);
  EXPECT_GE(int_at(diff->table, "after_ns", row), 200 + 400 * (kSteps - 2) / (kSteps - 1));
}

TEST(Diff, LongNamesAreShortInSentences) {
  const std::string kernel = "void kernel<" + std::string(500, 'x') + ">(float*)";
  const auto make = [&](int64_t kernel_ns) {
    HandMadeTrace made;
    for (int64_t i = 0; i < kSteps; ++i) {
      made.step("ProfilerStep#" + std::to_string(i), i * 1000, 1000);
      made.kernel(kernel, i * 1000 + 100, kernel_ns, 0);
    }
    return made.build();
  };
  const Trace before = make(100);
  const Trace after = make(600);
  const Result<Diff> diff = compare(before, after, {});
  ASSERT_TRUE(diff.ok());
  EXPECT_NE(find_row(diff->table, "name", kernel), SIZE_MAX);
  ASSERT_GE(diff->table.verdict.size(), 2u);
  for (const std::string& line : diff->table.verdict) EXPECT_LT(line.size(), 160u) << line;
}

}  // namespace
}  // namespace stepscope
