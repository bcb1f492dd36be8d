#include "analyze/shapes.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Shapes, AreWrittenAsPythonDoesAndTensorListsAreEmpty) {
  EXPECT_EQ(canonical_shapes("[[40,3,8,8], [],[[2,3],[4]]]"), "[[40, 3, 8, 8], [], []]");
  EXPECT_EQ(canonical_shapes("[]"), "[]");
}

TEST(Shapes, NonsenseHasNoShapes) {
  for (const char* text : {"", "[", "]", "[[1]", "[1]", "[[99999999999999999999]]", "{\"a\": 1}",
                           "[[[[1]]]]", "[[-]]"}) {
    EXPECT_EQ(canonical_shapes(text), "[]") << text;
  }
}

TEST(Flops, FollowTorchsFormulas) {
  EXPECT_EQ(count_flops(FlopsKind::kMatmul, "[[8,16],[16,4]]", ""), 2u * 8 * 16 * 4);
  EXPECT_EQ(count_flops(FlopsKind::kAddMatmul, "[[4],[8,16],[16,4]]", ""), 2u * 8 * 16 * 4);
  EXPECT_EQ(count_flops(FlopsKind::kBatchMatmul, "[[2,8,16],[2,16,4]]", ""), 2u * 2 * 8 * 16 * 4);
  EXPECT_EQ(count_flops(FlopsKind::kElementwise, "[[3,5],[]]", ""), 15u);
  EXPECT_EQ(count_flops(FlopsKind::kConv2d, "[[8,3,8,8],[16,3,3,3],[],[],[],[],[]]",
                        R"(["","","","[1, 1]","[1, 1]","[1, 1]","1"])"),
            2u * 8 * 8 * 8 * 3 * 3 * 3 * 16);
}

TEST(Flops, AreUnknownWhereTheInputsDoNotFit) {
  EXPECT_EQ(count_flops(FlopsKind::kMatmul, "[[8,0],[0,4]]", ""), std::nullopt);
  EXPECT_EQ(count_flops(FlopsKind::kMatmul, "[[8,16]]", ""), std::nullopt);
  EXPECT_EQ(count_flops(FlopsKind::kConv2d, "[[8,3,8,8],[16,3,3,3]]",
                        R"(["","","","[0, 0]","[1, 1]","[1, 1]","1"])"),
            std::nullopt);
  EXPECT_EQ(count_flops(FlopsKind::kConv2d, "[[8,3,8,8],[16,3,3,3]]", "[[[["), std::nullopt);
  EXPECT_EQ(find_flops_kind("aten::relu"), FlopsKind::kNone);
}

}  // namespace
}  // namespace stepscope
