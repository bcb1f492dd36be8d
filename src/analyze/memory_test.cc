#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

TEST(Memory, CurveCountsFromTheBeginWhereThereAreNoTotals) {
  HandMadeTrace made;
  made.op("aten::linear", 0, 100);
  made.op("aten::empty", 10, 20);
  made.allocate(15, 4096);
  made.allocate(50, -96);
  made.allocate(60, 512, 1, 0);
  const Trace trace = made.build();
  const Result<Table> table = memory(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 3u);
  EXPECT_EQ(int_at(*table, "allocated_bytes", 1), 4000);
  EXPECT_EQ(table->find("operator")->get_string(0), "aten::empty");
  EXPECT_EQ(table->find("operator")->get_string(1), "aten::linear");
  EXPECT_EQ(table->find("device")->get_string(2), "cuda:0");
  EXPECT_EQ(int_at(*table, "allocated_bytes", 2), 512);
  EXPECT_TRUE(table->find("reserved_bytes")->is_null(0));
}

TEST(Memory, ByOperatorTellsOwnFromInclusive) {
  HandMadeTrace made;
  made.op("aten::linear", 0, 100);
  made.op("aten::empty", 10, 20);
  made.allocate(15, 4096);
  made.allocate(50, -96);
  const Trace trace = made.build();
  TableOptions options;
  options.by = "operator";
  const Result<Table> table = memory(trace, options);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(int_of(*table, "aten::empty", "self_allocated_bytes"), 4096);
  EXPECT_EQ(int_of(*table, "aten::linear", "self_increase_bytes"), -96);
  EXPECT_EQ(int_of(*table, "aten::linear", "increase_bytes"), 4000);
  EXPECT_EQ(int_of(*table, "aten::linear", "allocations"), 1);
}

}  // namespace
}  // namespace stepscope
