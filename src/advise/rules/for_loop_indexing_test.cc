#include <gtest/gtest.h>

#include "advise/hand_made_autograd.h"

namespace stepscope::for_loop_indexing_test {
namespace {

// So many iterations of 10 us, in a step of 1 ms.
Findings check(int iterations, std::string_view body = "aten::pow", int body_every = 1) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    made.function("loss", [&] {
      for (int i = 0; i < iterations; ++i) {
        made.op("aten::select", 2);
        made.op(i % body_every == 0 ? body : "aten::pow", 5);
        made.pass(3);
      }
    });
    made.op("aten::mm", 1'000 - 10 * iterations);
  });
  return made.check(check_for_loop_indexing);
}

TEST(ForLoopIndexing, FindsALoopOverRows) {
  const Findings found = check(51);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 loss");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.5 * (1 - 3.0 / 51), 0.005);
}

TEST(ForLoopIndexing, CountsTheBackwardPassOfTheLoop) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    std::vector<HandMadeAutograd::Node> nodes;
    made.function("loss", [&] {
      for (int i = 0; i < 21; ++i) nodes.push_back(made.forward("aten::select", 10));
    });
    made.backward([&] {
      for (const auto& node : nodes) made.node("SelectBackward0", 20, node);
    });
    made.op("aten::mm", 1'000 - 630);
  });
  const Findings found = made.check(check_for_loop_indexing);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at_stake_fraction, 0.6 * 0.9, 0.01);
}

TEST(ForLoopIndexing, AFewAreNone) {
  EXPECT_FALSE(check(16).empty());
  EXPECT_TRUE(check(15).empty());
}

TEST(ForLoopIndexing, ARecurrenceIsNone) {
  EXPECT_TRUE(check(50, "aten::linear").empty());
  EXPECT_FALSE(check(50, "aten::linear", 5).empty());
}

TEST(ForLoopIndexing, ALoopOfStepsIsNone) {
  HandMadeAutograd made;
  made.function("main", [&] {
    made.steps(50, [&] {
      made.op("aten::slice", 10);
      made.op("aten::slice", 10);
      made.op("aten::mm", 10);
    });
  });
  EXPECT_TRUE(made.check(check_for_loop_indexing).empty());
}

}  // namespace
}  // namespace stepscope::for_loop_indexing_test
