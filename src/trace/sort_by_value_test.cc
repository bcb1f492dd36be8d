#include "trace/sort_by_value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace stepscope {
namespace {

void expect_as_stable_sort(std::vector<SortKey> keys) {
  std::vector<SortKey> expected = keys;
  std::stable_sort(expected.begin(), expected.end(),
                   [](const SortKey& a, const SortKey& b) { return a.value < b.value; });
  std::vector<SortKey> scratch;
  sort_by_value(keys, scratch);
  ASSERT_EQ(keys.size(), expected.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(keys[i].value, expected[i].value) << i;
    ASSERT_EQ(keys[i].row, expected[i].row) << i;
  }
}

std::vector<SortKey> random_keys(size_t count, uint64_t range, int64_t least, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<SortKey> keys;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t offset = range == 0 ? 0 : random() % range;
    keys.push_back({static_cast<int64_t>(static_cast<uint64_t>(least) + offset), i});
  }
  return keys;
}

TEST(SortByValue, EqualsStableSortForAnyRangeOfTimes) {
  for (const uint64_t range : {uint64_t{0}, uint64_t{2}, uint64_t{2048}, uint64_t{2049},
                               uint64_t{1} << 22, uint64_t{1} << 40, uint64_t{1} << 63}) {
    for (const size_t count : {0u, 1u, 2u, 511u, 512u, 513u, 5000u}) {
      expect_as_stable_sort(random_keys(count, range, -1234567, range + count));
    }
  }
}

TEST(SortByValue, SortsTheWholeRangeOfInt64) {
  std::vector<SortKey> keys = random_keys(3000, std::numeric_limits<uint64_t>::max(),
                                          std::numeric_limits<int64_t>::min(), 3);
  keys.push_back({std::numeric_limits<int64_t>::max(), 3000});
  keys.push_back({std::numeric_limits<int64_t>::min(), 3001});
  expect_as_stable_sort(std::move(keys));
}

TEST(SortByValue, LeavesSortedKeysAsTheyAre) {
  std::vector<SortKey> keys;
  for (uint32_t i = 0; i < 2000; ++i) keys.push_back({i / 3, i});
  expect_as_stable_sort(keys);
  std::reverse(keys.begin(), keys.end());
  expect_as_stable_sort(std::move(keys));
}

}  // namespace
}  // namespace stepscope
