#include <gtest/gtest.h>

#include <tuple>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

constexpr int64_t kSequenceUs = 1000;

// Calls of an operator that launch three kernels each, with 2 us between them.
HandMadeTrace make_repeated(int calls) {
  HandMadeTrace made;
  int64_t correlation = 1;
  for (int i = 0; i < calls; ++i) {
    const int64_t begin_ns = i * 100 * kSequenceUs;
    made.op("aten::layer_norm", begin_ns, 30 * kSequenceUs);
    int64_t at_ns = begin_ns + 10 * kSequenceUs;
    for (const std::string_view name : {"mean", "variance", "scale"}) {
      made.launch(at_ns, 1 * kSequenceUs, correlation);
      made.kernel(name, at_ns + 1 * kSequenceUs, 4 * kSequenceUs, correlation++);
      at_ns += 6 * kSequenceUs;
    }
  }
  return made;
}

TEST(Sequences, OfEqualCallsTheLongestComesFirst) {
  HandMadeTrace made;
  for (const auto& [name, begin_ns, kernel_ns] :
       {std::tuple("aten::a", 0, 10), std::tuple("aten::b", 1000, 30),
        std::tuple("aten::c", 2000, 20)}) {
    made.op(name, begin_ns, 500);
    for (int64_t i = 0; i < 3; ++i) {
      made.launch(begin_ns + i * 100, 5, begin_ns + i + 1);
      made.kernel("k", begin_ns + i * 100 + 10, kernel_ns, begin_ns + i + 1);
    }
  }
  const Trace trace = made.build();
  const Result<Table> table = make_view(trace, "sequences", {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 3u);
  EXPECT_EQ(table->find("operator")->get_string(0), "aten::b");
  EXPECT_EQ(table->find("operator")->get_string(1), "aten::c");
  EXPECT_EQ(table->find("operator")->get_string(2), "aten::a");
}

TEST(Sequences, CallsOfAnOperatorWithTheSameKernelsAreOneRow) {
  const Trace trace = make_repeated(4).build();
  const Result<Table> table = make_view(trace, "sequences", {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(table->find("operator")->get_string(0), "aten::layer_norm");
  EXPECT_EQ(table->find("sequence")->get_string(0), "mean | variance | scale");
  EXPECT_EQ(int_at(*table, "pieces", 0), 3);
  EXPECT_EQ(int_at(*table, "calls", 0), 4);
  EXPECT_EQ(int_at(*table, "device_ns", 0), 4 * 12 * kSequenceUs);
  EXPECT_EQ(int_at(*table, "gap_ns", 0), 4 * 4 * kSequenceUs);
  EXPECT_EQ(int_at(*table, "host_ns", 0), 4 * 30 * kSequenceUs);
}

TEST(Sequences, RunsOfAStreamRepeatWithoutOverlap) {
  const Trace trace = make_repeated(5).build();
  TableOptions options;
  options.by = "stream";
  const Result<Table> table = make_view(trace, "sequences", options);
  ASSERT_TRUE(table.ok());
  // Whole, and its two halves; calls are too far apart for longer ones.
  ASSERT_EQ(table->rows(), 3u);
  EXPECT_EQ(table->find("sequence")->get_string(0), "mean | variance | scale");
  EXPECT_EQ(int_at(*table, "calls", 0), 5);
  EXPECT_EQ(int_at(*table, "launches_saved", 0), 10);
  EXPECT_EQ(int_at(*table, "mean_kernel_ns", 0), 4 * kSequenceUs);
}

TEST(Sequences, OfOneKernelARunHoldsEachOnce) {
  HandMadeTrace made;
  for (int i = 0; i < 12; ++i) made.kernel("add", i * 5 * kSequenceUs, 4 * kSequenceUs, i + 1);
  const Trace trace = made.build();
  TableOptions options;
  options.by = "stream";
  const Result<Table> table = make_view(trace, "sequences", options);
  ASSERT_TRUE(table.ok());
  for (size_t row = 0; row < table->rows(); ++row) {
    EXPECT_EQ(int_at(*table, "calls", row), 12 / int_at(*table, "pieces", row));
  }
}

}  // namespace
}  // namespace stepscope
