#include "collect/sample/exception_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace stepscope::sample {
namespace {

// Of 3.11: `with a:` and, in it, `with b: g()`, the only statements of a function.
const std::vector<uint8_t> kNested = {0x83, 0x03, 0x39, 0x03, 0x86, 0x0f, 0x21, 0x05, 0x95, 0x0c,
                                      0x39, 0x03, 0xa1, 0x04, 0x25, 0x09, 0xa5, 0x03, 0x39, 0x03,
                                      0xa8, 0x01, 0x25, 0x09, 0xa9, 0x03, 0x39, 0x03, 0xb9, 0x04,
                                      0x3d, 0x07, 0xc1, 0x00, 0x01, 0x3d, 0x07};

TEST(ExceptionTable, InstructionsOutsideOfAllRangesHaveNoDepth) {
  EXPECT_EQ(find_stack_depth(kNested, 0), 0u);
  EXPECT_EQ(find_stack_depth(kNested, 2 * 2), 0u);
  EXPECT_EQ(find_stack_depth(kNested, 2 * 45), 0u);
  EXPECT_EQ(find_stack_depth(kNested, 2 * 65), 0u);
}

TEST(ExceptionTable, TheRangeThatHoldsAnInstructionTellsTheDepth) {
  EXPECT_EQ(find_stack_depth(kNested, 2 * 3), 1u);  // within a, about to enter b
  EXPECT_EQ(find_stack_depth(kNested, 2 * 6), 2u);  // within both
  EXPECT_EQ(find_stack_depth(kNested, 2 * 20 + 1), 2u);
  EXPECT_EQ(find_stack_depth(kNested, 2 * 21), 1u);
}

TEST(ExceptionTable, NumbersOfSeveralGroupsAreRead) {
  EXPECT_EQ(find_stack_depth(kNested, 2 * 63), 0u);
  EXPECT_EQ(find_stack_depth(kNested, 2 * 64), 3u);
}

TEST(ExceptionTable, WhatIsNoTableGivesNothing) {
  EXPECT_EQ(find_stack_depth({}, 10), 0u);
  EXPECT_EQ(find_stack_depth(kNested, -1), 0u);
  const std::vector<uint8_t> cut(kNested.begin(), kNested.begin() + 3);
  EXPECT_EQ(find_stack_depth(cut, 8), 0u);
  const std::vector<uint8_t> endless(1000, 0xff);
  EXPECT_EQ(find_stack_depth(endless, 8), 0u);
}

}  // namespace
}  // namespace stepscope::sample
