// Sums of figures from files, which may be as large as their author liked: they stay at the end of
// the range instead of wrapping.
#pragma once

#include <cstdint>

namespace stepscope {

constexpr int64_t add_saturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? INT64_MAX : INT64_MIN;
}

}  // namespace stepscope
