#include <gtest/gtest.h>

#include "advise/hand_made_autograd.h"

namespace stepscope::fp64_compute_test {
namespace {

// A step of 1 ms; the gradient of the loss takes so many bytes.
Findings check_loss(int64_t bytes, std::string_view node = "AddmmBackward0", int64_t mm_us = 300) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    const auto forward = made.forward("aten::addmm", mm_us);
    made.backward([&] {
      made.op_that_takes("aten::ones_like", 2, 0xa, bytes);
      made.node(node, 2 * mm_us, forward);
    });
    made.pass(998 - 3 * mm_us);
  });
  return made.check(check_fp64_compute);
}

Findings check_types(std::string_view types) {
  HandMadeAutograd made;
  made.steps(10, [&] {
    made.made.set_json(made.op("aten::mm", 603), "Input type", types);
    made.pass(397);
  });
  return made.check(check_fp64_compute);
}

TEST(Fp64Compute, FindsALossOfEightBytes) {
  const Findings found = check_loss(8);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at_stake_fraction, 0.45, 0.01);
}

TEST(Fp64Compute, ALossOfFourBytesIsNone) { EXPECT_TRUE(check_loss(4).empty()); }

TEST(Fp64Compute, ALossAloneInDoublesIsNone) {
  EXPECT_TRUE(check_loss(8, "ToCopyBackward0").empty());
}

TEST(Fp64Compute, SmallOperatorsAreNone) {
  EXPECT_FALSE(check_loss(8, "AddmmBackward0", 40).empty());
  EXPECT_TRUE(check_loss(8, "AddmmBackward0", 30).empty());
}

TEST(Fp64Compute, GoesByTypesWhereThereAreAny) {
  const Findings found = check_types(R"(["double","double"])");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].at_stake_fraction, 0.3, 0.001);
  EXPECT_TRUE(check_types(R"(["float","float"])").empty());
}

}  // namespace
}  // namespace stepscope::fp64_compute_test
