#include "analyze/operator_cost.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace stepscope {
namespace {

OperatorCost cost_of(const char* name, const char* dims, const char* concrete = "",
                     const char* types = "") {
  const CostRule* rule = find_cost_rule(name);
  if (rule == nullptr) return {};
  return count_cost(*rule, {.dims = dims, .types = types, .concrete = concrete});
}

std::optional<uint64_t> flops_of(const char* name, const char* dims, const char* concrete = "") {
  return cost_of(name, dims, concrete).flops;
}

constexpr char kConvolution[] = R"(["","","","[1, 1]","[1, 1]","[1, 1]","1"])";

TEST(OperatorCost, FollowsTorchsFormulas) {
  EXPECT_EQ(flops_of("aten::mm", "[[8,16],[16,4]]"), 2u * 8 * 16 * 4);
  EXPECT_EQ(flops_of("aten::addmm", "[[4],[8,16],[16,4]]"), 2u * 8 * 16 * 4);
  EXPECT_EQ(flops_of("aten::bmm", "[[2,8,16],[2,16,4]]"), 2u * 2 * 8 * 16 * 4);
  EXPECT_EQ(flops_of("aten::baddbmm", "[[2,8,4],[2,8,16],[2,16,4]]"), 2u * 2 * 8 * 16 * 4);
  EXPECT_EQ(flops_of("aten::mul", "[[3,5],[]]"), 15u);
  EXPECT_EQ(flops_of("aten::conv2d", "[[8,3,8,8],[16,3,3,3],[],[],[],[],[]]", kConvolution),
            2u * 8 * 8 * 8 * 3 * 3 * 3 * 16);
}

TEST(OperatorCost, OfConvolutionsOfAllKinds) {
  EXPECT_EQ(flops_of("aten::conv1d", "[[2,4,10],[6,2,3],[],[],[],[],[]]",
                     R"(["","","","[2]","[0]","[1]","2"])"),
            2u * (2 * 6 * 4) * (2 * 3));
  const OperatorCost transposed =
      cost_of("aten::conv_transpose2d", "[[2,4,5,5],[4,3,2,2],[],[],[],[],[],[]]",
              R"(["","","","[2, 2]","[0, 0]","[0, 0]","1","[1, 1]"])");
  EXPECT_EQ(transposed.flops, 2u * (2 * 4 * 5 * 5) * (3 * 2 * 2));
  EXPECT_EQ(transposed.outputs, (std::vector<Shape>{{2, 3, 10, 10}}));
  const char* backward = "[[8,16,8,8],[8,3,8,8],[16,3,3,3],[],[],[],[],[],[],[],[]]";
  const uint64_t forward = 2u * 8 * 8 * 8 * 3 * 3 * 3 * 16;
  EXPECT_EQ(flops_of("aten::convolution_backward", backward,
                     R"(["","","","[16]","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1",)"
                     R"("[True, True, True]"])"),
            2 * forward);
  EXPECT_EQ(flops_of("aten::convolution_backward", backward,
                     R"(["","","","[16]","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1",)"
                     R"("[False, True, True]"])"),
            forward);
}

TEST(OperatorCost, OfAConvolutionThatOnlyTheCompilersCallIsKnownToo) {
  const char* dims = "[[8,3,8,8],[16,3,3,3],[],[],[],[],[],[],[]]";
  const char* concrete = R"(["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1"])";
  EXPECT_EQ(flops_of("aten::convolution", dims, concrete), 2u * 8 * 8 * 8 * 3 * 3 * 3 * 16);
  EXPECT_FALSE(is_counted_within(*find_cost_rule("aten::_convolution")));
  EXPECT_TRUE(is_counted_within(*find_cost_rule("aten::conv2d")));
}

TEST(OperatorCost, OfAttentionIsThatOfItsProductsOfMatrices) {
  const char* dims = "[[2,4,10,8],[2,4,12,8],[2,4,12,16]]";
  EXPECT_EQ(flops_of("aten::_scaled_dot_product_flash_attention_for_cpu", dims),
            2u * 2 * 4 * 10 * 12 * (8 + 16));
}

TEST(OperatorCost, OfNormsPoolingReductionsAndTheRest) {
  EXPECT_EQ(flops_of("aten::native_layer_norm", "[[4,8],[8],[8]]"), 5u * 32);
  const OperatorCost pool = cost_of("aten::max_pool2d_with_indices", "[[4,8,16,16],[],[],[],[],[]]",
                                    R"(["","[2, 2]","[2, 2]","[0, 0]","[1, 1]","False"])");
  EXPECT_EQ(pool.flops, 4u * 8 * 8 * 8 * 4);
  EXPECT_EQ(pool.outputs, (std::vector<Shape>{{4, 8, 8, 8}}));
  EXPECT_EQ(flops_of("aten::sum", "[[4,8],[],[]]"), 32u);
  EXPECT_EQ(flops_of("aten::relu_", "[[4,8]]"), 32u);
  EXPECT_EQ(flops_of("aten::div", "[[4,1],[8]]"), 32u);
  EXPECT_EQ(flops_of("aten::_foreach_add_", "[[[4,8],[3]],[[4,8],[3]],[]]"), 35u);
  EXPECT_EQ(flops_of("aten::_fused_sgd_", "[[[10]],[[10]],[[10]],[],[],[],[],[],[],[],[],[]]"),
            40u);
  EXPECT_EQ(flops_of("aten::mkldnn_rnn_layer", "[[5,2,3],[16,3],[16,4],[16],[16]]"),
            2u * 5 * 2 * (16 * 3 + 16 * 4));
}

TEST(OperatorCost, BytesAreThoseOfInputsAndOutputs) {
  const OperatorCost product = cost_of("aten::mm", "[[8,16],[16,4]]", "", R"(["float","float"])");
  EXPECT_EQ(product.bytes, 4u * (8 * 16 + 16 * 4 + 8 * 4));
  EXPECT_EQ(cost_of("aten::add", "[[8],[],[]]", "", R"(["c10::BFloat16","Scalar","Scalar"])").bytes,
            2u * 16);
  EXPECT_EQ(cost_of("aten::embedding", "[[1000,8],[5]]", "", R"(["float","long int"])").bytes,
            5u * 8 + 2 * 4 * 5 * 8);
  EXPECT_EQ(cost_of("aten::zero_", "[[8]]", "", R"(["float"])").bytes, 32u);
  EXPECT_EQ(cost_of("aten::copy_", "[[8],[8],[]]", "", R"(["float","float","Scalar"])").bytes, 64u);
}

TEST(OperatorCost, IsUnknownWhereTheInputsDoNotFit) {
  EXPECT_EQ(flops_of("aten::mm", "[[8,0],[0,4]]"), std::nullopt);
  EXPECT_EQ(flops_of("aten::mm", "[[8,16]]"), std::nullopt);
  EXPECT_EQ(flops_of("aten::conv2d", "[[8,3,8,8],[16,3,3,3]]",
                     R"(["","","","[0, 0]","[1, 1]","[1, 1]","1"])"),
            std::nullopt);
  EXPECT_EQ(flops_of("aten::conv2d", "[[8,3,8,8],[16,3,3,3]]", "[[[["), std::nullopt);
  EXPECT_EQ(cost_of("aten::mm", "[[8,16],[16,4]]").bytes, std::nullopt);
  EXPECT_EQ(find_cost_rule("aten::linear"), nullptr);
  EXPECT_EQ(find_cost_rule("my::mm"), nullptr);
  EXPECT_EQ(find_cost_rule("aten::_"), nullptr);
}

TEST(OperatorCost, SizesOfAHostileFileDoNoHarm) {
  const std::string most = std::to_string(std::numeric_limits<int64_t>::max());
  const std::string dims = "[[" + most + "," + most + ",-1,-5],[" + most + ",-1," + most + ",2]]";
  for (const char* name : {"aten::conv2d", "aten::conv_transpose2d", "aten::mm", "aten::div",
                           "aten::max_pool2d_with_indices", "aten::convolution_backward"}) {
    const std::string list = "\"[" + most + ", -" + most + "]\"";
    cost_of(name, dims.c_str(),
            ("[" + list + "," + list + "," + list + "," + list + "," + list + "," + list + ",\"" +
             most + "\"," + list + "]")
                .c_str());
  }
}

}  // namespace
}  // namespace stepscope
