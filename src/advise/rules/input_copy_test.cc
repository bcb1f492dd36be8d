#include <gtest/gtest.h>

#include "advise/hand_made_autograd.h"

namespace stepscope::input_copy_test {
namespace {

// A step of 1 ms in which something is done to a batch before the model gets it.
Findings check(std::string_view name, int64_t copy_us, bool is_in_model = false) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    made.function("train", [&] {
      if (!is_in_model) made.op(name, copy_us);
      made.module("Net", [&] {
        if (is_in_model) made.op(name, copy_us);
        made.op("aten::mm", 1'000 - copy_us);
      });
    });
  });
  return made.check(check_input_copy);
}

TEST(InputCopy, FindsConversionsBeforeTheModel) {
  const Findings found = check("aten::to", 200);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 train");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.2, 0.001);
}

TEST(InputCopy, ShortOnesAreNone) {
  EXPECT_FALSE(check("aten::contiguous", 21).empty());
  EXPECT_TRUE(check("aten::contiguous", 19).empty());
}

TEST(InputCopy, WhatTheModelDoesIsNone) { EXPECT_TRUE(check("aten::to", 200, true).empty()); }

TEST(InputCopy, OtherWorkOnABatchIsNone) { EXPECT_TRUE(check("aten::flip", 200).empty()); }

}  // namespace
}  // namespace stepscope::input_copy_test
