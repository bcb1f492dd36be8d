#include "trace/sort_by_time.h"

#include <algorithm>
#include <array>

namespace stepscope {
namespace {

constexpr int kDigitBits = 11;
constexpr size_t kBuckets = size_t{1} << kDigitBits;
constexpr size_t kFewKeys = 512;

}  // namespace

void sort_by_time(std::vector<TimeKey>& keys, std::vector<TimeKey>& scratch) {
  const auto by_time = [](const TimeKey& a, const TimeKey& b) { return a.time_ns < b.time_ns; };
  if (std::is_sorted(keys.begin(), keys.end(), by_time)) return;
  if (keys.size() < kFewKeys) {
    std::stable_sort(keys.begin(), keys.end(), by_time);
    return;
  }
  const auto [least, greatest] = std::minmax_element(keys.begin(), keys.end(), by_time);
  const uint64_t base = static_cast<uint64_t>(least->time_ns);
  const uint64_t range = static_cast<uint64_t>(greatest->time_ns) - base;
  scratch.resize(keys.size());
  for (int shift = 0; shift < 64 && (range >> shift) != 0; shift += kDigitBits) {
    const auto digit = [&](const TimeKey& key) {
      return ((static_cast<uint64_t>(key.time_ns) - base) >> shift) & (kBuckets - 1);
    };
    std::array<uint32_t, kBuckets> position{};
    for (const TimeKey& key : keys) ++position[digit(key)];
    uint32_t sum = 0;
    for (uint32_t& p : position) {
      const uint32_t count = p;
      p = sum;
      sum += count;
    }
    for (const TimeKey& key : keys) scratch[position[digit(key)]++] = key;
    keys.swap(scratch);
  }
}

}  // namespace stepscope
