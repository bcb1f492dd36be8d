#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

constexpr std::string_view kFma = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
constexpr std::string_view kAdd = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum";

void add_range(HandMadeTrace& made, int64_t start_ns, int64_t fma, double add) {
  const SliceRef range = made.add(made.add_stream(0, 1), "gemm", "cuda_profiler_range",
                                  SliceKind::kOther, start_ns, 10);
  made.set_int(range, kFma, fma);
  made.set_double(range, kAdd, add);
}

TEST(Cupti, RangesBelongToLaunchesInOrder) {
  HandMadeTrace made;
  made.op("aten::conv2d", 0, 100);
  made.op("aten::cudnn_convolution", 10, 80);
  made.launch(20, 10, 1);
  add_range(made, 500, 7, 2.5);
  const Trace trace = made.build();
  const Result<Table> table = cupti(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(table->find("operator")->get_string(0), "aten::cudnn_convolution");
  EXPECT_EQ(table->find("top_operator")->get_string(0), "aten::conv2d");
  EXPECT_EQ(table->find("stack")->get_string(0), "aten::conv2d > aten::cudnn_convolution");
  EXPECT_EQ(int_at(*table, kFma, 0), 7);
  EXPECT_DOUBLE_EQ(table->find(kAdd)->get_double(0), 2.5);
  EXPECT_DOUBLE_EQ(table->find("flops")->get_double(0), 16.5);
}

TEST(Cupti, OperatorsAreNotGuessedWhereLaunchesAreMissing) {
  HandMadeTrace made;
  made.op("aten::mm", 0, 100);
  made.launch(20, 10, 1);
  add_range(made, 500, 1, 0);
  add_range(made, 600, 1, 0);
  const Trace trace = made.build();
  const Result<Table> table = cupti(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 2u);
  EXPECT_TRUE(table->find("operator")->is_null(0));
  ASSERT_EQ(table->notes.size(), 1u);
}

}  // namespace
}  // namespace stepscope
