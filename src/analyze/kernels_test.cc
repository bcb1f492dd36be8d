#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

TEST(Kernels, CountsAndTimesAreByNameAndDevice) {
  HandMadeTrace made;
  made.kernel("relu", 0, 10, 1);
  made.kernel("relu", 20, 30, 2);
  made.device_work(made.add_stream(1, 7), "relu", SliceKind::kKernel, 0, 5, 3);
  made.device_work(made.add_stream(0, 8), "Memset (Device)", SliceKind::kMemset, 0, 5, 4);
  const Trace trace = made.build();
  const Result<Table> table = kernels(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 2u);
  EXPECT_EQ(int_at(*table, "device", 0), 0);
  EXPECT_EQ(int_at(*table, "calls", 0), 2);
  EXPECT_EQ(int_at(*table, "total_ns", 0), 40);
  EXPECT_EQ(int_at(*table, "mean_ns", 0), 20);
  EXPECT_EQ(int_at(*table, "max_ns", 0), 30);
  EXPECT_EQ(int_at(*table, "min_ns", 0), 10);
  EXPECT_TRUE(table->find("occupancy")->is_null(0));
}

TEST(Kernels, FiguresAreMeansWeightedByDuration) {
  HandMadeTrace made;
  const SliceRef first = made.kernel("volta_s884gemm", 0, 10, 1);
  const SliceRef second = made.kernel("volta_s884gemm", 20, 30, 2);
  made.set_double(first, "blocks per SM", 0.5);
  made.set_int(second, "blocks per SM", 2);
  made.set_int(first, "est. achieved occupancy %", 100);
  const Trace trace = made.build();
  const Result<Table> table = kernels(trace, {});
  ASSERT_TRUE(table.ok());
  EXPECT_DOUBLE_EQ(table->find("blocks_per_sm")->get_double(0), (0.5 * 10 + 2 * 30) / 40);
  EXPECT_DOUBLE_EQ(table->find("occupancy")->get_double(0), 0.25);
  EXPECT_EQ(int_at(*table, "tensor_cores", 0), 1);
}

}  // namespace
}  // namespace stepscope
