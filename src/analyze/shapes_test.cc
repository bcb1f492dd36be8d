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

TEST(Shapes, OfTensorListsAreKeptWhereTheyAreWanted) {
  const auto inputs = parse_input_shapes("[[2], [[3, 4], []], []]");
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[0].shapes, std::vector<Shape>{{2}});
  EXPECT_FALSE(inputs[0].is_list);
  EXPECT_EQ(inputs[1].shapes, (std::vector<Shape>{{3, 4}, {}}));
  EXPECT_TRUE(inputs[1].is_list);
  EXPECT_EQ(inputs[2].shapes, std::vector<Shape>{Shape()});
}

TEST(Shapes, ListsOfConcreteInputsAreRead) {
  EXPECT_EQ(parse_int_list("[1, 2]"), (Shape{1, 2}));
  EXPECT_EQ(parse_int_list("1"), std::nullopt);
  EXPECT_EQ(parse_strings(R"(["", "[1, 1]", "a\"b"])"),
            (std::vector<std::string>{"", "[1, 1]", "a\"b"}));
}

}  // namespace
}  // namespace stepscope
