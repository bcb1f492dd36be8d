#include "cli/time_range.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace stepscope::cli {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 7> kUnits = {{
    {"ns", 1.0},
    {"us", 1e3},
    {"µs", 1e3},
    {"ms", 1e6},
    {"s", 1e9},
    {"m", 60e9},
    {"min", 60e9},
}};
constexpr double kMaxNs = 4e18;

Status bad_time(std::string_view text, const char* why) {
  return Status::error("--range: '" + std::string(text) + "' " + why);
}

Result<int64_t> parse_time(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number)) {
    return bad_time(text, "is no time; write 1.5s, 120ms or 300us");
  }
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (number < 0) return bad_time(text, "is before the begin of the trace");
  if (unit.empty()) {
    if (number == 0) return int64_t{0};
    return bad_time(text, "needs a unit: ns, us, ms, s or m");
  }
  for (const auto& [name, ns] : kUnits) {
    if (unit != name) continue;
    if (number * ns > kMaxNs) return bad_time(text, "is too far away");
    return static_cast<int64_t>(std::llround(number * ns));
  }
  return bad_time(text, "has an unknown unit; there are ns, us, ms, s and m");
}

}  // namespace

Result<TimeRange> parse_range(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    return bad_time(text, "is no range; write A..B, as in 1.5s..2s, 120ms.. or ..300us");
  }
  const std::string_view begin = text.substr(0, dots);
  const std::string_view end = text.substr(dots + 2);
  if (begin.empty() && end.empty()) return bad_time(text, "has neither a begin nor an end");
  TimeRange range;
  if (!begin.empty()) {
    const auto time = parse_time(begin);
    if (!time) return time.status();
    range.begin_ns = *time;
  }
  if (!end.empty()) {
    const auto time = parse_time(end);
    if (!time) return time.status();
    range.end_ns = *time;
  }
  if (range.begin_ns >= range.end_ns) return bad_time(text, "ends before it begins");
  return range;
}

}  // namespace stepscope::cli
