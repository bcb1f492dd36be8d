#include "export/bytes_text.h"

#include <fmt/format.h>

#include <array>

namespace stepscope {

std::string bytes_text(int64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.4g} {}", value, kUnits[unit]);
}

}  // namespace stepscope
