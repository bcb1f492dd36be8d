#include "export/svg_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepscope {

int64_t round_distance(int64_t least) {
  int64_t unit = 1;
  while (true) {
    for (const int64_t factor : {1, 2, 5}) {
      if (unit > INT64_MAX / 10 || unit * factor >= least) return unit * factor;
    }
    unit *= 10;
  }
}

std::string axis_text(int64_t ns, int64_t distance_ns) {
  const auto value = static_cast<double>(ns);
  if (ns == 0) return "0";
  if (distance_ns >= 1'000'000'000) return fmt::format("{:.0f} s", value / 1e9);
  if (ns >= 1'000'000'000) {
    const int decimals = std::max(0, 9 - static_cast<int>(std::log10(distance_ns)));
    return fmt::format("{:.{}f} s", value / 1e9, decimals);
  }
  if (distance_ns >= 1'000'000) return fmt::format("{:.0f} ms", value / 1e6);
  if (ns >= 1'000'000) {
    const int decimals = std::max(0, 6 - static_cast<int>(std::log10(distance_ns)));
    return fmt::format("{:.{}f} ms", value / 1e6, decimals);
  }
  if (distance_ns >= 1'000) return fmt::format("{:.0f} us", value / 1e3);
  return fmt::format("{} ns", ns);
}

}  // namespace stepscope
