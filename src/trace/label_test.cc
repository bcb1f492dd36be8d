#include "trace/label.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(LabelTable, GivesTheSameIdForTheSameNameCategoryAndKind) {
  LabelTable labels;
  const LabelId first = labels.intern({StringId{1}, StringId{2}, SliceKind::kOperator});
  EXPECT_EQ(labels.intern({StringId{1}, StringId{2}, SliceKind::kOperator}), first);
  EXPECT_NE(labels.intern({StringId{1}, StringId{2}, SliceKind::kKernel}), first);
  EXPECT_NE(labels.intern({StringId{2}, StringId{1}, SliceKind::kOperator}), first);
  EXPECT_EQ(labels.size(), 3u);
  EXPECT_EQ(labels[first].category, StringId{2});
}

TEST(LabelTable, FindsEveryKindByItsName) {
  for (int i = 0; i < kSliceKindCount; ++i) {
    const auto kind = static_cast<SliceKind>(i);
    EXPECT_FALSE(kind_name(kind).empty());
    EXPECT_EQ(find_kind(kind_name(kind)), kind);
  }
  EXPECT_EQ(kind_name(SliceKind::kSpan), "span");
  EXPECT_EQ(find_kind("kernels"), std::nullopt);
}

TEST(LabelTable, TakesKernelsAndCopiesAsDeviceWork) {
  EXPECT_TRUE(is_device_work(SliceKind::kMemset));
  EXPECT_FALSE(is_device_work(SliceKind::kRuntime));
  EXPECT_FALSE(is_device_work(SliceKind::kDeviceAnnotation));
}

}  // namespace
}  // namespace stepscope
