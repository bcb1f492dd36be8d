#include <gtest/gtest.h>

#include "advise/hand_made_training.h"

namespace stepscope::dataloader_slow_collate_test {
namespace {

constexpr std::string_view kOwn = "/home/me/train.py(7): pad_rows";
constexpr std::string_view kTorch =
    "/usr/lib/python3/site-packages/torch/utils/data/_utils/collate.py(340): default_collate";

Findings check(int64_t item_us, int64_t collate_us, std::string_view collate = kOwn) {
  HandMadeTraining training;
  for (int i = 0; i < 10; ++i) {
    training.step([&] {
      training.next([&] {
        training.mark("fetch", [&] {
          training.function("Rows.__getitem__", [&] { training.pass(item_us); });
          training.mark("collate",
                        [&] { training.python(collate, [&] { training.pass(collate_us); }); });
        });
      });
      training.op("aten::mm", 100'000 - item_us - collate_us);
    });
  }
  return training.check(check_dataloader_slow_collate);
}

TEST(DataloaderSlowCollate, NamesTheFunction) {
  const Findings found = check(10'000, 40'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "dataloader-slow-collate");
  EXPECT_EQ(found[0].where, "/home/me/train.py:7 pad_rows");
  EXPECT_NEAR(found[0].at_stake_fraction, 0.38, 0.01);  // 95 % of 40 %
}

TEST(DataloaderSlowCollate, IsNoneWhereItemsTakeMore) {
  EXPECT_FALSE(check(24'000, 26'000).empty());
  EXPECT_TRUE(check(26'000, 24'000).empty());
}

TEST(DataloaderSlowCollate, PyTorchsOwnIsExpectedToTakeTime) {
  EXPECT_EQ(check(5'000, 45'000, kTorch).size(), 1u);
  EXPECT_TRUE(check(15'000, 35'000, kTorch).empty());
  EXPECT_TRUE(check(500, 8'000, kTorch).empty()) << "steps hardly wait";
}

}  // namespace
}  // namespace stepscope::dataloader_slow_collate_test
