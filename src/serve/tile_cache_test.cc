#include "serve/tile_cache.h"

#include <gtest/gtest.h>

namespace stepscope::serve {
namespace {

std::shared_ptr<const std::string> tile(size_t bytes) {
  return std::make_shared<const std::string>(bytes, 'x');
}

TEST(TileCache, KeepsTheLastUsedWithinItsBytes) {
  TileCache cache(100'000);
  for (uint64_t i = 0; i < 9; ++i) cache.add({0, 1, 0, 0, i}, tile(10'000));
  ASSERT_NE(cache.find({0, 1, 0, 0, 0}), nullptr);  // now the last used
  cache.add({0, 1, 0, 0, 9}, tile(10'000));
  EXPECT_NE(cache.find({0, 1, 0, 0, 0}), nullptr);
  EXPECT_EQ(cache.find({0, 1, 0, 0, 1}), nullptr);
  EXPECT_LE(cache.bytes(), 100'000U);
}

TEST(TileCache, TilesOfAnotherVersionAreOthers) {
  TileCache cache(100'000);
  cache.add({0, 1, 2, 3, 4}, tile(1));
  EXPECT_EQ(cache.find({0, 2, 2, 3, 4}), nullptr);
  EXPECT_EQ(cache.find({1, 1, 2, 3, 4}), nullptr);
  EXPECT_NE(cache.find({0, 1, 2, 3, 4}), nullptr);
}

TEST(TileCache, OneThatIsTooLargeIsNotKept) {
  TileCache cache(100'000);
  cache.add({0, 1, 0, 0, 0}, tile(10));
  cache.add({0, 1, 0, 0, 1}, tile(50'000));
  EXPECT_EQ(cache.find({0, 1, 0, 0, 1}), nullptr);
  EXPECT_NE(cache.find({0, 1, 0, 0, 0}), nullptr);
}

TEST(TileCache, AddedTwiceCountsOnce) {
  TileCache cache(100'000);
  cache.add({0, 1, 0, 0, 0}, tile(1000));
  const size_t bytes = cache.bytes();
  cache.add({0, 1, 0, 0, 0}, tile(1000));
  EXPECT_EQ(cache.bytes(), bytes);
}

}  // namespace
}  // namespace stepscope::serve
