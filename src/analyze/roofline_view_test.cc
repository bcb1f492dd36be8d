#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

TEST(RooflineView, OperatorsStandBetweenComputingAndMemory) {
  HandMadeTrace made;
  Device device;
  device.name = made.builder().string("NVIDIA A100-SXM4-40GB");
  made.builder().add_device(device);
  const SliceRef product = made.op("aten::mm", 0, 100'000);
  made.set_json(product, "Input Dims", "[[4096, 4096], [4096, 4096]]");
  made.set_json(product, "Input type", R"(["float", "float"])");
  made.launch(10'000, 10'000, 1);
  made.kernel("ampere_sgemm", 200'000, 10'000'000, 1);
  const SliceRef sum = made.op("aten::add", 300'000, 100'000);
  made.set_json(sum, "Input Dims", "[[4096, 4096], [4096, 4096], []]");
  made.set_json(sum, "Input type", R"(["float", "float", "Scalar"])");
  made.launch(310'000, 10'000, 2);
  made.kernel("elementwise", 11'000'000, 200'000, 2);
  const Trace trace = made.build();
  const Result<Table> table = make_view(trace, "roofline", {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 2u);
  EXPECT_EQ(table->find("name")->get_string(0), "aten::mm");
  EXPECT_EQ(table->find("types")->get_string(0), "float");
  EXPECT_DOUBLE_EQ(table->find("flops")->get_double(0), 2.0 * 4096 * 4096 * 4096);
  EXPECT_EQ(table->find("bound")->get_string(0), "compute");
  EXPECT_NEAR(table->find("roof_fraction")->get_double(0), 13.74e12 / 19.5e12, 0.01);
  EXPECT_EQ(table->find("bound")->get_string(1), "memory");
}

TEST(RooflineView, WithoutShapesThatIsSaid) {
  HandMadeTrace made;
  made.op("aten::mm", 0, 100);
  made.launch(10, 10, 1);
  made.kernel("gemm", 50, 100, 1);
  const Trace trace = made.build();
  const Result<Table> table = make_view(trace, "roofline", {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->rows(), 0u);
  EXPECT_FALSE(table->notes.empty());
}

}  // namespace
}  // namespace stepscope
