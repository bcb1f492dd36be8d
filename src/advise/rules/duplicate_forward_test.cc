#include <gtest/gtest.h>

#include "advise/hand_made_autograd.h"

namespace stepscope::duplicate_forward_test {
namespace {

using Node = HandMadeAutograd::Node;

Node call(HandMadeAutograd& made, bool is_recorded = true) {
  Node node;
  made.module("Net", [&] {
    if (is_recorded) {
      node = made.forward("aten::addmm", 95);
      made.forward("aten::relu", 5);
    } else {
      made.op("aten::addmm", 95);
      made.op("aten::relu", 5);
    }
  });
  return node;
}

void train(HandMadeAutograd& made, const Node& node) {
  made.backward([&] {
    made.node("AddmmBackward0", 298, node);
    made.accumulate(false, 2);
  });
}

TEST(DuplicateForward, FindsASecondCallAfterBackward) {
  for (const bool is_recorded : {true, false}) {
    HandMadeAutograd made;
    made.steps(10, [&] {
      made.function("main", [&] {
        train(made, call(made));
        call(made, is_recorded);
      });
    });
    const Findings found = made.check(check_duplicate_forward);
    ASSERT_EQ(found.size(), 1u) << is_recorded;
    EXPECT_EQ(found[0].where, "/home/me/train.py:7 main");
    EXPECT_NEAR(found[0].at_stake_fraction, 0.2, 0.005);
  }
}

TEST(DuplicateForward, FindsASecondCallBeforeBackwardWhoseResultIsLookedAt) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    const Node node = call(made);
    call(made);
    made.op("aten::eq", 1);
    train(made, node);
  });
  EXPECT_EQ(made.check(check_duplicate_forward).size(), 1u);
}

TEST(DuplicateForward, ATargetForTheLossIsNone) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    call(made, false);  // a target network of the same kind
    made.op("aten::max", 1);
    train(made, call(made));
  });
  EXPECT_TRUE(made.check(check_duplicate_forward).empty());
}

TEST(DuplicateForward, TwoCallsThatBackwardUsesAreNone) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    const Node left = call(made), right = call(made);
    made.backward([&] {
      made.node("AddmmBackward0", 100, right);
      made.node("AddmmBackward0", 100, left);
    });
    made.op("aten::item", 1);
  });
  EXPECT_TRUE(made.check(check_duplicate_forward).empty());
}

TEST(DuplicateForward, AnotherModelIsNone) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    train(made, call(made));
    made.module("Metric", [&] {
      made.op("aten::sub", 95);
      made.op("aten::relu", 5);
    });
  });
  EXPECT_TRUE(made.check(check_duplicate_forward).empty());
}

TEST(DuplicateForward, ACallNowAndThenIsNone) {
  for (const int with : {4, 5}) {
    HandMadeAutograd made;
    for (int i = 0; i < 11; ++i) {  // the first is left out of the steady ones
      made.step([&] {
        train(made, call(made));
        if (i > 10 - with) call(made);
      });
    }
    EXPECT_EQ(made.check(check_duplicate_forward).empty(), with == 4);
  }
}

}  // namespace
}  // namespace stepscope::duplicate_forward_test
