#include "cli/quantity.h"

#include <charconv>
#include <cmath>
#include <span>
#include <string>

namespace stepscope::cli {
namespace {

struct UnitSize {
  std::string_view name;
  double size;
};

constexpr UnitSize kTimes[] = {{"ns", 1.0}, {"us", 1e3}, {"µs", 1e3},  {"ms", 1e6},
                               {"s", 1e9},  {"m", 60e9}, {"min", 60e9}};
constexpr UnitSize kSizes[] = {{"", 1.0},
                               {"B", 1.0},
                               {"KB", 1e3},
                               {"kB", 1e3},
                               {"MB", 1e6},
                               {"GB", 1e9},
                               {"TB", 1e12},
                               {"K", 1e3},
                               {"M", 1e6},
                               {"G", 1e9},
                               {"T", 1e12},
                               {"KiB", 1024.0},
                               {"MiB", 1048576.0},
                               {"GiB", 1073741824.0},
                               {"TiB", 1099511627776.0}};
constexpr double kMax = 4e18;

struct Words {
  const char* no_number;
  const char* no_unit;
  const char* unknown_unit;
};

Status fault(std::string_view text, const char* why) {
  return Status::error("'" + std::string(text) + "' " + why);
}

Result<int64_t> parse(std::string_view text, std::span<const UnitSize> units, const Words& words) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number)) return fault(text, words.no_number);
  if (number < 0) return fault(text, "is below zero");
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  for (const auto& [name, size] : units) {
    if (unit != name) continue;
    if (number * size > kMax) return fault(text, "is too much");
    return static_cast<int64_t>(std::llround(number * size));
  }
  if (!unit.empty()) return fault(text, words.unknown_unit);
  return number == 0 ? Result<int64_t>(int64_t{0}) : Result<int64_t>(fault(text, words.no_unit));
}

}  // namespace

Result<int64_t> parse_duration_ns(std::string_view text) {
  return parse(text, kTimes,
               {"is no time; write 1.5s, 120ms or 300us", "needs a unit: ns, us, ms, s or m",
                "has an unknown unit; there are ns, us, ms, s and m"});
}

Result<uint64_t> parse_bytes(std::string_view text) {
  const Result<int64_t> bytes = parse(
      text, kSizes,
      {"is no size; write 200MB or 1GB", "", "has an unknown unit; there are KB, MB, GB, TB"});
  if (!bytes) return bytes.status();
  return static_cast<uint64_t>(*bytes);
}

}  // namespace stepscope::cli
