#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

double double_at(const Table& table, std::string_view column, size_t row) {
  return table.find(column)->get_double(row);
}

TEST(Devices, SharesAreOfTheStepsTime) {
  HandMadeTrace made;
  Device device;
  device.name = made.builder().string("Tesla V100");
  device.compute_major = 7;
  made.builder().add_device(device);
  made.step("ProfilerStep#1", 0, 1000);
  made.op("aten::mm", 0, 50);
  made.launch(10, 10, 1);
  made.op("aten::relu", 60, 50);
  made.launch(70, 10, 2);
  const SliceRef first = made.kernel("volta_s884gemm", 100, 200, 1);
  const SliceRef second = made.kernel("relu", 200, 200, 2);
  made.set_double(first, "blocks per SM", 0.75);
  made.set_double(second, "blocks per SM", 0.5);
  made.set_int(first, "est. achieved occupancy %", 40);
  made.set_int(second, "est. achieved occupancy %", 20);
  const Trace trace = made.build();
  const Result<Table> table = devices(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(table->find("name")->get_string(0), "Tesla V100");
  EXPECT_DOUBLE_EQ(double_at(*table, "busy_fraction", 0), 0.3);
  EXPECT_DOUBLE_EQ(double_at(*table, "sm_efficiency", 0),
                   (0.75 * 100 + 1 * 100 + 0.5 * 100) / 1000);
  EXPECT_DOUBLE_EQ(double_at(*table, "occupancy", 0), 0.3);
  EXPECT_DOUBLE_EQ(double_at(*table, "tensor_core_fraction", 0), 0.5);
  EXPECT_DOUBLE_EQ(double_at(*table, "tensor_core_eligible_fraction", 0), 0.5);
}

TEST(Devices, TimelineHasTheBusyShareOfEachBucket) {
  HandMadeTrace made;
  made.add(made.thread(), "PyTorch Profiler (0)", "Trace", SliceKind::kSpan, 0, 20'000);
  made.kernel("a", 500, 1000, 1);
  const Trace trace = made.build();
  TableOptions options;
  options.by = "time";
  const Result<Table> table = devices(trace, options);
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 21u);
  EXPECT_DOUBLE_EQ(double_at(*table, "value", 0), 0.5);
  EXPECT_DOUBLE_EQ(double_at(*table, "value", 1), 0.5);
  EXPECT_DOUBLE_EQ(double_at(*table, "value", 2), 0);
  EXPECT_EQ(int_at(*table, "time_ns", 20), 20'000);
}

TEST(Devices, TraceWithoutKernelsSaysSo) {
  HandMadeTrace made;
  made.op("aten::mm", 0, 50);
  const Trace trace = made.build();
  const Result<Table> table = devices(trace, {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->rows(), 0u);
  EXPECT_EQ(table->notes.size(), 1u);
}

}  // namespace
}  // namespace stepscope
