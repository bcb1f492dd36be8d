#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"
#include "trace/training_trace_for_tests.h"

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

TEST(Memory, ByCategoryTellsWhatIsHeldAndThePeak) {
  TrainingTrace made;
  made.op("aten::empty", 10, 2);
  made.take(11, 0xa, 1'000);
  made.op("aten::linear", 100, 40, 0);
  made.take(110, 0xb, 3'000);
  made.op("aten::relu", 150, 40, 2);
  made.backward_node("AddmmBackward0", 200, 40, 1);
  made.take(210, 0xc, 1'000);
  made.give_back(210, 0xb, 3'000);
  made.optimizer_step(300, 100);
  const Trace trace = made.build();
  TableOptions options;
  options.by = "category";
  const Result<Table> table = memory(trace, options);
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 3u);  // what happens at one moment is one row
  EXPECT_EQ(int_at(*table, "time_ns", 1), 100);
  EXPECT_EQ(table->find("device")->get_string(1), "cpu");
  EXPECT_EQ(int_at(*table, "parameters_bytes", 1), 1'000);
  EXPECT_EQ(int_at(*table, "activations_bytes", 1), 3'000);
  EXPECT_EQ(int_at(*table, "total_bytes", 1), 4'000);
  EXPECT_EQ(int_at(*table, "gradients_bytes", 2), 1'000);
  EXPECT_EQ(int_at(*table, "activations_bytes", 2), 0);
  for (const char* other : {"optimizer_state_bytes", "inputs_bytes", "temporaries_bytes",
                            "autograd_details_bytes", "unknown_bytes"}) {
    EXPECT_EQ(int_at(*table, other, 2), 0) << other;
  }
  ASSERT_EQ(table->notes.size(), 1u);
  EXPECT_EQ(table->notes[0],
            "peak of cpu: 3.91 KiB at 100 ns: 75.0% activations, 25.0% parameters");
}

TEST(Memory, ByCategorySaysWhatIsMissing) {
  TrainingTrace made;
  made.op("aten::mm", 10, 2);
  made.take(11, 0xa, 1'000);
  made.take(12, 0xa, 1'000);
  const Trace trace = made.build();
  TableOptions options;
  options.by = "category";
  const Result<Table> table = memory(trace, options);
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->notes.size(), 3u);
  EXPECT_EQ(table->notes[1],
            "no training phases in this trace (backward pass, Optimizer.step): all memory is "
            "unknown");
  EXPECT_EQ(table->notes[2], "1 releases are missing: an address was taken again");
}

TEST(Memory, ByCategoryTakesTheTracksAndTimesAskedFor) {
  TrainingTrace made;
  made.op("aten::mm", 0, 100);
  made.take(10, 0xa, 100);
  made.take(50, 0xb, 100);
  made.on_thread(1, 2);
  made.take(20, 0xc, 7);
  const Trace trace = made.build();
  TableOptions options;
  options.by = "category";
  options.track = "thread 1";
  options.range = {20, 60};
  const Result<Table> table = memory(trace, options);
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(int_at(*table, "total_bytes", 0), 200);
}

}  // namespace
}  // namespace stepscope
