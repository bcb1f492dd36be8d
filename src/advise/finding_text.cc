#include "advise/finding_text.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace stepscope {
namespace {

// Two digits that count, three where the first is a 1: more would promise too much.
std::string rounded(double value) {
  const int digits = value >= 99.5    ? 0
                     : value >= 9.95  ? (value < 20 ? 1 : 0)
                     : value >= 0.995 ? 1
                                      : 2;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  std::string result(text.data());
  if (result.find('.') != result.npos) {
    while (result.back() == '0') result.pop_back();
    if (result.back() == '.') result.pop_back();
  }
  return result;
}

}  // namespace

std::string in_percent(double fraction) {
  const double percent = 100 * fraction;
  return rounded(percent >= 9.95 ? std::round(percent) : percent) + " %";
}

std::string in_time(int64_t ns) {
  const auto value = static_cast<double>(ns);
  if (value < 1e3) return std::to_string(ns) + " ns";
  if (value < 1e6) return rounded(value / 1e3) + " us";
  if (value < 1e9) return rounded(value / 1e6) + " ms";
  return rounded(value / 1e9) + " s";
}

std::string times_less(int64_t before_ns, int64_t after_ns) {
  return "from " + in_time(before_ns) + " to about " + in_time(after_ns);
}

}  // namespace stepscope
