#include "analyze/text_value.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace stepscope {
namespace {

// Four significant digits: 1.204, 12.30, 177.6.
std::string four_digits(double value) {
  const double size = std::fabs(value);
  const int decimals = size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string text_of_ns(int64_t ns) {
  const double value = static_cast<double>(ns);
  const double size = std::fabs(value);
  if (size < 1e3) return fmt::format("{} ns", ns);
  if (size < 999.95e3) return four_digits(value / 1e3) + " us";
  if (size < 999.95e6) return four_digits(value / 1e6) + " ms";
  if (size < 600e9) return four_digits(value / 1e9) + " s";
  const char* sign = ns < 0 ? "-" : "";
  if (size < 3600e9) return fmt::format("{}{:.1f} min", sign, size / 60e9);
  if (size < 86400e9 * 2) {
    const auto minutes = static_cast<int64_t>(std::llround(size / 60e9));
    return fmt::format("{}{} h {:02} min", sign, minutes / 60, minutes % 60);
  }
  return fmt::format("{}{:.1f} days", sign, size / 86400e9);
}

std::string text_of_bytes(int64_t bytes) {
  static constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  if (std::fabs(value) < 1024) return fmt::format("{} B", bytes);
  size_t unit = 0;
  value /= 1024;
  while (std::fabs(value) >= 1023.995 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const double size = std::fabs(value);
  return fmt::format("{:.{}f} {}", value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2, kUnits[unit]);
}

std::string text_of_count(int64_t count) {
  std::string digits = std::to_string(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

std::string text_of_fraction(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (value == 0) return "0%";
  if (std::fabs(value) < 0.0005) return value < 0 ? ">-0.1%" : "<0.1%";
  return fmt::format("{:.1f}%", value * 100);
}

std::string text_of_double(double value) {
  if (std::fabs(value) >= 1e5 && std::fabs(value) < 1e15) {
    return text_of_count(static_cast<int64_t>(std::llround(value)));
  }
  return fmt::format("{:.4g}", value);
}

std::string text_of_cell(const Column& column, size_t row) {
  if (column.is_null(row)) return "";
  if (column.type() == ColumnType::kString) return column.get_string(row);
  if (column.type() == ColumnType::kBool) return column.get_int(row) != 0 ? "yes" : "no";
  const bool is_double = column.type() == ColumnType::kDouble;
  const double number = column.get_number(row);
  const bool fits = std::fabs(number) < 9.2e18;
  const int64_t whole = !is_double ? column.get_int(row)
                        : fits     ? static_cast<int64_t>(std::llround(number))
                                   : 0;
  if (column.unit() == Unit::kFraction) return text_of_fraction(number);
  if (is_double && !fits) return text_of_double(number);
  switch (column.unit()) {
    case Unit::kNs:
      return text_of_ns(whole);
    case Unit::kBytes:
      return text_of_bytes(whole);
    case Unit::kCount:
      return is_double && number != std::floor(number) ? text_of_double(number)
                                                       : text_of_count(whole);
    case Unit::kFraction:
    case Unit::kNone:
      break;
  }
  return is_double ? text_of_double(number) : std::to_string(whole);
}

std::string column_title(const Column& column) {
  std::string_view name = column.name();
  if (name == "fraction") return "share";
  // The unit stands in every cell.
  if (column.unit() != Unit::kNone) {
    for (const std::string_view unit : {"_ns", "_bytes", "_fraction", "_count"}) {
      if (name.size() > unit.size() && name.ends_with(unit)) {
        name.remove_suffix(unit.size());
        break;
      }
    }
  }
  if (name == "dur") return "duration";
  if (name == "communication") return "comm.";
  std::string title(name);
  if (column.unit() == Unit::kFraction && name != column.name()) title += " %";
  for (char& c : title) {
    if (c == '_') c = ' ';
  }
  return title;
}

}  // namespace stepscope
