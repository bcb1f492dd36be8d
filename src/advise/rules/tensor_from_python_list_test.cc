#include <gtest/gtest.h>

#include "advise/hand_made_autograd.h"

namespace stepscope::tensor_from_python_list_test {
namespace {

// A step of 1 ms in which a list is read for so long.
Findings check(int64_t read_us, int64_t types_us, std::string_view last = "aten::lift_fresh") {
  HandMadeAutograd made;
  made.steps(10, [&] {
    made.function("batch", [&] {
      made.op("aten::slice", 1);
      made.pass(types_us);
      made.op("aten::empty", 1);
      made.pass(read_us);
      made.op("aten::to", 1);
      made.op(last, 1);
    });
    made.op("aten::mm", 1'000 - read_us - types_us - 4);
  });
  return made.check(check_tensor_from_python_list);
}

TEST(TensorFromPythonList, FindsTheTimeInWhichListsAreRead) {
  const Findings found = check(300, 100);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 batch");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.404, 0.001) << "with the function's four operators";
}

TEST(TensorFromPythonList, OtherPythonBeforeItIsNotItsOwn) {
  const Findings found = check(100, 800);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at_stake_fraction, 0.4, 0.001);
}

TEST(TensorFromPythonList, AShortListIsNone) {
  EXPECT_FALSE(check(21, 0).empty());
  EXPECT_TRUE(check(19, 0).empty());
}

TEST(TensorFromPythonList, PythonBetweenOtherOperatorsIsNone) {
  EXPECT_TRUE(check(300, 100, "aten::add").empty());
}

}  // namespace
}  // namespace stepscope::tensor_from_python_list_test
