#include <gtest/gtest.h>

#include "advise/hand_made_autograd.h"

namespace stepscope::conv_bias_before_batchnorm_test {
namespace {

// The backward pass of a convolution and what follows it, whose node is named.
Findings check(std::string_view after, int gradients) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    const auto convolution = made.forward("aten::convolution", 100);
    const auto next = made.forward("aten::batch_norm", 100);
    made.backward([&] {
      made.node(after, 500, next);
      made.accumulate();
      made.accumulate();
      made.node("ConvolutionBackward0", 290, convolution);
      for (int i = 0; i < gradients; ++i) made.accumulate();
      made.op("aten::mm", 8 - gradients);
    });
  });
  return made.check(check_conv_bias_before_batchnorm);
}

TEST(ConvBiasBeforeBatchnorm, FindsTheGradientOfABias) {
  const Findings found = check("NativeBatchNormBackward0", 2);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at_stake_fraction, 0.2 * 0.5, 0.005);
}

TEST(ConvBiasBeforeBatchnorm, AConvolutionWithoutBiasIsNone) {
  EXPECT_TRUE(check("NativeBatchNormBackward0", 1).empty());
}

TEST(ConvBiasBeforeBatchnorm, ABiasBeforeAnythingElseIsNone) {
  EXPECT_TRUE(check("ReluBackward0", 2).empty());
}

}  // namespace
}  // namespace stepscope::conv_bias_before_batchnorm_test
