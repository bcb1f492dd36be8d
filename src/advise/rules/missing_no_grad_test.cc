#include <gtest/gtest.h>

#include "advise/hand_made_autograd.h"

namespace stepscope::missing_no_grad_test {
namespace {

using Node = HandMadeAutograd::Node;

// A student of 100 us, whose backward pass takes 200, and a teacher.
template <typename Teacher>
Findings check(Teacher&& teacher, bool is_student_zeroed = true) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    made.function("train", [&] {
      Node of_teacher, of_student;
      const bool is_taught = teacher(made, of_teacher);
      made.module("Student", [&] { of_student = made.forward("aten::addmm", 100); });
      made.backward([&] {
        made.node("AddmmBackward0", 198, of_student);
        made.accumulate(!is_student_zeroed, 2);
        if (is_taught) {
          made.node("AddmmBackward0", 98, of_teacher);
          made.accumulate(true, 2);
        }
      });
      made.forward("aten::add", 0);  // the number after the last node
    });
  });
  return made.check(check_missing_no_grad);
}

TEST(MissingNoGrad, FindsAForwardPassThatNoBackwardUses) {
  const auto teacher = [](HandMadeAutograd& made, Node&) {
    made.module("Teacher", [&] { made.forward("aten::addmm", 700); });
    return false;
  };
  const Findings found = check(teacher);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 train");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.07 * 0.7, 0.005);
}

TEST(MissingNoGrad, FindsABackwardPassForGradientsThatNobodyZeroes) {
  const auto teacher = [](HandMadeAutograd& made, Node& node) {
    made.module("Teacher", [&] { node = made.forward("aten::addmm", 100); });
    return true;
  };
  const Findings found = check(teacher);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at_stake_fraction, 0.107 / 0.5, 0.01);
}

TEST(MissingNoGrad, AModelUnderNoGradIsNone) {
  EXPECT_TRUE(check([](HandMadeAutograd& made, Node&) {
                made.module("Teacher", [&] { made.op("aten::addmm", 700); });
                return false;
              }).empty());
}

TEST(MissingNoGrad, AShortForwardPassIsNone) {
  EXPECT_TRUE(check([](HandMadeAutograd& made, Node&) {
                made.module("Teacher", [&] { made.forward("aten::addmm", 50); });
                return false;
              }).empty());
}

TEST(MissingNoGrad, GradientsThatAreAllFilledWithZerosAreNone) {
  const auto teacher = [](HandMadeAutograd& made, Node& node) {
    made.module("Teacher", [&] { node = made.forward("aten::addmm", 100); });
    return true;
  };
  EXPECT_TRUE(check(teacher, false).empty());
}

TEST(MissingNoGrad, AModelThatGradientsPassThroughIsNone) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    Node generator, judge;
    made.module("Generator", [&] { generator = made.forward("aten::addmm", 100); });
    made.module("Judge", [&] { judge = made.forward("aten::addmm", 100); });
    made.backward([&] {
      made.node("AddmmBackward0", 100, judge);
      made.accumulate(true);
      made.node("AddmmBackward0", 100, generator);
      made.accumulate(false);
    });
  });
  EXPECT_TRUE(made.check(check_missing_no_grad).empty());
}

}  // namespace
}  // namespace stepscope::missing_no_grad_test
