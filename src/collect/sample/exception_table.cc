#include "collect/sample/exception_table.h"

#include <algorithm>
#include <array>

namespace stepscope::sample {
namespace {

constexpr uint8_t kMoreFollows = 0x40, kBits = 0x3f;
constexpr int32_t kUnitBytes = 2;

// False at the end, and where the number is cut off or too large.
bool read_number(std::span<const uint8_t> table, size_t& at, uint32_t& number) {
  number = 0;
  while (at < table.size()) {
    const uint8_t byte = table[at++];
    number = number << 6 | (byte & kBits);
    if ((byte & kMoreFollows) == 0) return true;
    if (number >= 1u << 24) return false;
  }
  return false;
}

}  // namespace

size_t find_stack_depth(std::span<const uint8_t> table, int32_t instruction) {
  if (instruction < 0) return 0;
  const auto unit = static_cast<uint32_t>(instruction / kUnitBytes);
  size_t depth = 0;
  std::array<uint32_t, 4> entry;  // first, count, handler, depth
  for (size_t at = 0; at < table.size();) {
    for (uint32_t& number : entry) {
      if (!read_number(table, at, number)) return depth;
    }
    if (unit >= entry[0] && unit - entry[0] < entry[1]) {
      depth = std::max<size_t>(depth, entry[3] >> 1);
    }
  }
  return depth;
}

}  // namespace stepscope::sample
