#include "collect/recorder/intern_cache.h"

#include <gtest/gtest.h>

#include <vector>

namespace stepscope {
namespace {

TEST(InternCache, AsksOnceForEachThingThatStays) {
  InternCache<16> cache;
  int asked = 0;
  const int thing = 0;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(cache.find(&thing, [&] { return ++asked, 7u; }), 7u);
  }
  EXPECT_EQ(asked, 1);
}

TEST(InternCache, GivesTheRightIdWhateverCollides) {
  InternCache<16> cache;
  std::vector<double> things(1000);
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < things.size(); ++i) {
      EXPECT_EQ(cache.find(&things[i], [&] { return i + 1; }), i + 1);
    }
  }
}

TEST(InternCache, AsksAgainWhereThereWasNoRoomOrTheThingIsGone) {
  InternCache<16> cache;
  const int thing = 0;
  EXPECT_EQ(cache.find(&thing, [] { return 0u; }), 0u);
  EXPECT_EQ(cache.find(&thing, [] { return 3u; }), 3u);
  cache.forget(&thing);
  EXPECT_EQ(cache.find(&thing, [] { return 4u; }), 4u);
}

}  // namespace
}  // namespace stepscope
