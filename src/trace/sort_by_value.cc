#include "trace/sort_by_value.h"

#include <algorithm>
#include <array>

namespace stepscope {
namespace {

constexpr int kDigitBits = 11;
constexpr size_t kBuckets = size_t{1} << kDigitBits;
constexpr size_t kFewKeys = 512;

}  // namespace

void sort_by_value(std::vector<SortKey>& keys, std::vector<SortKey>& scratch) {
  const auto by_value = [](const SortKey& a, const SortKey& b) { return a.value < b.value; };
  if (std::is_sorted(keys.begin(), keys.end(), by_value)) return;
  if (keys.size() < kFewKeys) {
    std::stable_sort(keys.begin(), keys.end(), by_value);
    return;
  }
  const auto [least, greatest] = std::minmax_element(keys.begin(), keys.end(), by_value);
  const uint64_t base = static_cast<uint64_t>(least->value);
  const uint64_t range = static_cast<uint64_t>(greatest->value) - base;
  scratch.resize(keys.size());
  for (int shift = 0; shift < 64 && (range >> shift) != 0; shift += kDigitBits) {
    const auto digit = [&](const SortKey& key) {
      return ((static_cast<uint64_t>(key.value) - base) >> shift) & (kBuckets - 1);
    };
    std::array<uint32_t, kBuckets> position{};
    for (const SortKey& key : keys) ++position[digit(key)];
    if (position[digit(keys[0])] == keys.size()) continue;  // all have the same digit here
    uint32_t sum = 0;
    for (uint32_t& p : position) {
      const uint32_t count = p;
      p = sum;
      sum += count;
    }
    for (const SortKey& key : keys) scratch[position[digit(key)]++] = key;
    keys.swap(scratch);
  }
}

}  // namespace stepscope
