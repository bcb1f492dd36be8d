#include <gtest/gtest.h>

#include "advise/hand_made_gpu_loop.h"
#include "advise/rule_for_tests.h"

namespace stepscope::full_precision_matmul_test {
namespace {

// A step waits for a convolution and for a kernel that Tensor Cores can not do.
Trace make(std::string_view kernel, int64_t compute_major, int64_t input_us = 0) {
  HandMadeGpuLoop loop;
  loop.add_device(compute_major);
  for (int i = 0; i < 6; ++i) {
    loop.begin_step();
    if (input_us > 0) loop.input(input_us);
    loop.op("aten::conv2d", kernel, 20, 680)
        .op("aten::relu", "vectorized_elementwise_kernel", 20, 320)
        .synchronize()
        .end_step();
  }
  return loop.made.build();
}

TEST(FullPrecisionMatmul, FiresWhereEligibleKernelsUseNoTensorCores) {
  const Trace trace = make("volta_scudnn_128x64_relu_interior_nn_v1", 7);
  const auto finding = find(check_full_precision_matmul, trace);
  ASSERT_TRUE(finding);
  EXPECT_NEAR(figure(*finding, "eligible kernel time"), 0.68, 0.001);
  EXPECT_NEAR(finding->at_stake_fraction, 0.34, 0.01);
  EXPECT_NE(finding->code.find("GradScaler"), std::string::npos);
}

TEST(FullPrecisionMatmul, KeepsQuietWhereTheyDo) {
  EXPECT_FALSE(find(check_full_precision_matmul, make("volta_fp16_s884cudnn_fp16_128x128", 7)));
  EXPECT_FALSE(find(check_full_precision_matmul,
                    make("cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16", 8)));
}

TEST(FullPrecisionMatmul, KeepsQuietOnDevicesWithoutTensorCores) {
  EXPECT_FALSE(find(check_full_precision_matmul, make("maxwell_scudnn_128x64", 6)));
}

TEST(FullPrecisionMatmul, CountsWhatIsSavedOnceInputIsThere) {
  const auto finding = find(check_full_precision_matmul, make("volta_scudnn_128x64", 7, 1000));
  ASSERT_TRUE(finding);
  EXPECT_NEAR(finding->at_stake_fraction, 0.17, 0.01);
  EXPECT_NE(finding->title.find("once it does not wait for input"), std::string::npos);
}

TEST(FullPrecisionMatmul, SaysSoWhereTheHostIsSlower) {
  HandMadeGpuLoop loop;
  loop.add_device(8);
  for (int i = 0; i < 6; ++i) loop.begin_step().op("aten::mm", "sgemm", 1000, 600).end_step();
  const Trace trace = loop.made.build();
  const auto finding = find(check_full_precision_matmul, trace);
  ASSERT_TRUE(finding);
  EXPECT_LT(finding->at_stake_fraction, kLeastAtStake * 3);
  EXPECT_TRUE(finding->is_note);
}

}  // namespace
}  // namespace stepscope::full_precision_matmul_test
