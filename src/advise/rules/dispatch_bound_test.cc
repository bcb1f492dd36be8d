#include <gtest/gtest.h>

#include "advise/hand_made_training.h"

namespace stepscope::dispatch_bound_test {
namespace {

Findings check(int operators, int64_t operator_us, std::string_view name = "aten::add") {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.function("experts", [&] {
        for (int n = 0; n < operators; ++n) training.op(name, operator_us);
      });
      training.op("aten::mm", 1'000);
    });
  }
  return training.check(check_dispatch_bound);
}

TEST(DispatchBound, FindsManyTinyOperatorsOfOneFunction) {
  const Findings found = check(200, 5);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 experts");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.475, 0.01);  // 95 % of one half
}

TEST(DispatchBound, FewOrLargeOperatorsAreNone) {
  EXPECT_FALSE(check(64, 30).empty());
  EXPECT_TRUE(check(63, 30).empty());
  EXPECT_FALSE(check(100, 49).empty());
  EXPECT_TRUE(check(100, 51).empty());
}

TEST(DispatchBound, ACellOfARecurrentNetworkIsManyOperators) {
  const Findings found = check(30, 120, "aten::gru_cell");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].title.find(" 30 small operators"), std::string::npos) << found[0].title;
  EXPECT_TRUE(check(30, 120, "aten::linear").empty());
}

// A deep model's operators are many as well, but it calls each of its functions a few times.
TEST(DispatchBound, OperatorsOfManyFunctionsAreNoLoop) {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.function("forward", [&] {
        for (int n = 0; n < 100; ++n) training.op("aten::op" + std::to_string(n % 7), 10);
      });
      training.op("aten::mm", 1'000);
    });
  }
  EXPECT_TRUE(training.check(check_dispatch_bound).empty());
}

// Layers that a library goes through, of a class of the user's.
TEST(DispatchBound, TheLayersOfADeepModelAreNoLoop) {
  const auto check_layers = [](bool is_library) {
    HandMadeTraining training;
    for (int i = 0; i < 10; ++i) {
      training.step([&] {
        training.function("train", [&] {
          const auto layers = [&] {
            for (int n = 0; n < 40; ++n) {
              training.function("Layer.forward", [&] {
                for (int k = 0; k < 3; ++k) training.op("aten::op" + std::to_string(k), 10);
              });
            }
          };
          if (is_library) {
            training.python("torch/nn/modules/container.py(240): forward", layers);
          } else {
            layers();
          }
        });
        training.op("aten::mm", 1'000);
      });
    }
    return training.check(check_dispatch_bound);
  };
  EXPECT_TRUE(check_layers(true).empty());
  EXPECT_FALSE(check_layers(false).empty());
}

}  // namespace
}  // namespace stepscope::dispatch_bound_test
