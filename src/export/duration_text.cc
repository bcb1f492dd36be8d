#include "export/duration_text.h"

#include <fmt/format.h>

namespace stepscope {

std::string duration_text(int64_t ns) {
  if (ns < 1'000) return fmt::format("{} ns", ns);
  const auto value = static_cast<double>(ns);
  if (ns < 1'000'000) return fmt::format("{:.4g} us", value / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.4g} ms", value / 1e6);
  return fmt::format("{:.2f} s", value / 1e9);
}

}  // namespace stepscope
