#include <gtest/gtest.h>

#include "advise/hand_made_training.h"

namespace stepscope::garbage_collection_test {
namespace {

Findings check(int64_t collect_us) {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.op("aten::mm", 10'000 - collect_us);
      training.function("clean_up", [&] {
        training.mark(
            "garbage collection 2", [&] { training.pass(collect_us); }, "gc");
      });
    });
  }
  return training.check(check_garbage_collection);
}

TEST(GarbageCollection, NamesWhoAsksForIt) {
  const Findings found = check(4'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 clean_up");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.4, 0.001);
}

TEST(GarbageCollection, ALittleIsNormal) {
  EXPECT_FALSE(check(510).empty());
  EXPECT_TRUE(check(490).empty());
}

}  // namespace
}  // namespace stepscope::garbage_collection_test
