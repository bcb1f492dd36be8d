// Sums of numbers from a file, which may be anything: they stay at the end of the range instead of
// running over it.
#pragma once

#include <cstdint>

namespace stepscope {

constexpr int64_t add_saturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? INT64_MIN : INT64_MAX;
}

constexpr void add_to(int64_t& sum, int64_t value) { sum = add_saturating(sum, value); }

constexpr int64_t subtract_saturating(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? INT64_MAX : INT64_MIN;
}

}  // namespace stepscope
