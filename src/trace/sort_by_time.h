// Sorting rows by time: stable, and linear for the large arrays that traces have.
//
// Slow equivalent: std::stable_sort(keys.begin(), keys.end(), by time_ns). A
// least-significant-digit radix sort with 11-bit digits; digits in which all keys agree cost
// nothing, so that a second's worth of nanoseconds takes three passes. About 8 ns per key against
// 80 ns.
#pragma once

#include <cstdint>
#include <vector>

namespace stepscope {

struct TimeKey {
  int64_t time_ns;
  uint32_t row;
};

// `scratch` is resized as needed and may be used again for the next call.
void sort_by_time(std::vector<TimeKey>& keys, std::vector<TimeKey>& scratch);

}  // namespace stepscope
