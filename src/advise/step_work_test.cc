#include "advise/step_work.h"

#include <gtest/gtest.h>

#include "advise/hand_made_training.h"

namespace stepscope {
namespace {

const FunctionWork* find(const Case& c, Part part, std::string_view place) {
  for (const FunctionWork& function : c.work->functions(part)) {
    if (c.place(function.label) == place) return &function;
  }
  return nullptr;
}

TEST(StepWork, AComprehensionIsPartOfItsFunction) {
  HandMadeTraining training;
  for (int i = 0; i < 5; ++i) {
    training.step([&] {
      training.function("outer", [&] {
        training.function("outer.<locals>.<listcomp>", [&] {
          for (int n = 0; n < 20; ++n) training.op("aten::mm", 10);
        });
      });
    });
  }
  const Trace trace = training.made.build();
  const Case c(trace);
  ASSERT_EQ(c.work->functions(Part::kRest).size(), 1u);
  const FunctionWork& outer = c.work->functions(Part::kRest)[0];
  EXPECT_EQ(c.place(outer.label), "/home/me/train.py:7 outer");
  EXPECT_EQ(outer.repeats, 4u * 20);
  EXPECT_NEAR(outer.own_ns, 4 * 200'000, 100);
}

TEST(StepWork, TimeGoesToTheInnermostFunctionOfTheUser) {
  HandMadeTraining training;
  for (int i = 0; i < 5; ++i) {
    training.step([&] {
      training.function("outer", [&] {
        training.pass(100);
        training.op("aten::mm", 200);
        training.function("inner", [&] {
          training.python("/usr/lib/python3.11/json/encoder.py(1): encode",
                          [&] { training.pass(300); });
        });
      });
    });
  }
  const Trace trace = training.made.build();
  const Case c(trace);
  const FunctionWork* outer = find(c, Part::kRest, "/home/me/train.py:7 outer");
  const FunctionWork* inner = find(c, Part::kRest, "/home/me/train.py:7 inner");
  ASSERT_TRUE(outer != nullptr && inner != nullptr);
  EXPECT_EQ(outer->calls, 4u) << "the first step is warm-up";
  EXPECT_NEAR(outer->own_ns, 4 * 300'000, 100);
  EXPECT_NEAR(outer->operator_ns, 4 * 200'000, 100);
  EXPECT_NEAR(outer->python_ns(), 4 * 100'000, 100);
  EXPECT_NEAR(inner->own_ns, 4 * 300'000, 100);
}

// A function that runs all of the loop began before the steps: its share of them counts.
TEST(StepWork, WhatIsOpenAroundAStepIsPartOfIt) {
  HandMadeTraining training;
  training.function("train", [&] {
    training.pass(5'000);
    for (int i = 0; i < 5; ++i) {
      training.step([&] {
        training.pass(100);
        training.op("aten::mm", 200);
        training.pass(50);
      });
    }
  });
  const Trace trace = training.made.build();
  const Case c(trace);
  const FunctionWork* train = find(c, Part::kRest, "/home/me/train.py:7 train");
  ASSERT_TRUE(train != nullptr);
  EXPECT_NEAR(train->own_ns, 4 * 350'000, 100);
  EXPECT_EQ(train->calls, 0u) << "it was called before";
  EXPECT_NEAR(train->python_ns(), 4 * 150'000, 100);
}

TEST(StepWork, FetchingIsKeptApart) {
  HandMadeTraining training;
  for (int i = 0; i < 5; ++i) {
    training.step([&] {
      training.fetch(300, "load");
      training.function("load", [&] { training.pass(70); });
    });
  }
  const Trace trace = training.made.build();
  const Case c(trace);
  EXPECT_NEAR(find(c, Part::kInput, "/home/me/train.py:7 load")->own_ns, 4 * 300'000, 100);
  EXPECT_NEAR(find(c, Part::kRest, "/home/me/train.py:7 load")->own_ns, 4 * 70'000, 100);
  EXPECT_EQ(c.input.batches, 4u);
  EXPECT_NEAR(c.input.wait_ns, 4 * 300'000, 100);
  EXPECT_TRUE(c.input.is_in_process);
}

}  // namespace
}  // namespace stepscope
