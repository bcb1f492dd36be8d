#include "analyze/profile_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/grid_text.h"
#include "analyze/utf8.h"

namespace stepscope {
namespace {

constexpr double kDecimal = 1000;
constexpr double kBinary = 1024;
constexpr size_t kInfoWidth = 30;
constexpr double kBarLength = 15;

// "442.37\nKFLO". What is missing has no figure, but a unit.
std::string with_unit(double value, bool is_missing, double base, std::string_view unit,
                      std::string_view prefixed_unit) {
  if (is_missing) return fmt::format("N/A\n{}", unit);
  static constexpr std::array<std::string_view, 6> kPrefixes = {"", "K", "M", "G", "T", "P"};
  size_t prefix = 0;
  while (std::isfinite(value) && value >= base && prefix + 1 < kPrefixes.size()) {
    value /= base;
    ++prefix;
  }
  return fmt::format("{:.2f}\n{}{}", std::isnan(value) ? std::abs(value) : value, kPrefixes[prefix],
                     prefix > 0 ? prefixed_unit : unit);
}

std::string percent(double part_s, double whole_s) {
  if (std::isnan(whole_s)) return "N/A";
  return fmt::format("{:.1f}%", part_s / whole_s * 100);
}

// "{4,3,16,16}", one under another, and " -[1]" under those with a layout of their own.
std::string shapes(const ProfileRow& row, const std::optional<std::vector<Shape>>& all,
                   const std::optional<std::vector<Shape>>& layouts, std::string_view separator) {
  if (row.is_aggregate) return "None";
  if (!all) return "N/A";
  std::string text;
  const size_t count = layouts ? std::min(all->size(), layouts->size()) : all->size();
  for (size_t i = 0; i < count; ++i) {
    text += fmt::format("{}{{{}}}", i > 0 ? separator : "", fmt::join((*all)[i], ","));
    if (layouts && !(*layouts)[i].empty()) {
      text += fmt::format("\n -[{}]", fmt::join((*layouts)[i], ","));
    }
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> info(const ProfileRow& row) {
  if (row.is_aggregate) {
    return {{"type", printable(row.type)}, {"count", std::to_string(row.count)}, {"id", row.id}};
  }
  return {{"name", printable(row.name)}, {"type", printable(row.type)}, {"id", printable(row.id)}};
}

std::string plain_rows(const std::vector<ProfileRow>& rows) {
  std::string text;
  for (const ProfileRow& row : rows) {
    std::string line;
    for (const auto& [key, value] : info(row)) line += (line.empty() ? "" : " ") + value;
    text += line + "\n";
  }
  return text;
}

std::string bar(double value, double most) {
  if (!(most > 0) || std::isnan(value)) return "";
  return std::string(static_cast<size_t>(kBarLength * std::clamp(value / most, 0.0, 1.0)), '#');
}

double largest(const std::vector<ProfileRow>& rows, double (ProfileRow::*value)() const) {
  double most = 0;
  for (const ProfileRow& row : rows) {
    const double one = (row.*value)();
    if (std::isfinite(one)) most = std::max(most, one);
  }
  return most;
}

std::string number(double value, double unit) {
  return std::isnan(value) ? "N/A" : fmt::format("{:.1f}", value / unit);
}

std::string wiki_rows(const std::vector<ProfileRow>& rows, double total_s, bool has_bound) {
  constexpr double kMega = kDecimal * kDecimal;
  constexpr double kMebi = kBinary * kBinary;
  const bool is_aggregate = !rows.empty() && rows[0].is_aggregate;
  std::vector<std::string> headers = {"#",        "time",     "ratio",
                                      "time bar", "cum-time", "cum-time ratio"};
  for (const char* key :
       is_aggregate ? std::array{"type", "count", "id"} : std::array{"name", "type", "id"}) {
    headers.push_back(std::string("opr ") + key);
  }
  for (const char* header : {"computation (MFLO)", "MFLOPS", "MFLOPS-bar", "memory (MB)",
                             "bandwidth (MiB/s)", "bandwidth bar", "in_shapes", "out_shapes"}) {
    headers.emplace_back(header);
  }
  if (has_bound) headers.emplace_back("bound");
  double longest_s = 0;
  for (const ProfileRow& row : rows) longest_s = std::max(longest_s, row.time_s);
  const double most_flops = largest(rows, &ProfileRow::flops_per_s);
  const double most_bytes = largest(rows, &ProfileRow::bytes_per_s);
  GridText grid(headers);
  for (size_t i = 0; i < rows.size(); ++i) {
    const ProfileRow& row = rows[i];
    std::vector<std::string> cells = {std::to_string(i),
                                      python_short(row.time_s),
                                      percent(row.time_s, total_s),
                                      bar(row.time_s, longest_s),
                                      fmt::format("{}", row.cumulative_s),
                                      fmt::format("{}", row.cumulative_s / total_s)};
    for (auto& [key, value] : info(row)) cells.push_back(std::move(value));
    cells.push_back(number(row.computation, kMega));
    cells.push_back(number(row.flops_per_s(), kMega));
    cells.push_back(bar(row.flops_per_s(), most_flops));
    cells.push_back(number(row.memory, kMebi));
    cells.push_back(number(row.bytes_per_s(), kMebi));
    cells.push_back(bar(row.bytes_per_s(), most_bytes));
    cells.push_back(shapes(row, row.in_shapes, row.in_layouts, ", "));
    cells.push_back(shapes(row, row.out_shapes, std::nullopt, ", "));
    if (has_bound) cells.push_back(row.bound);
    // A row of a wiki's table is one line.
    for (std::string& cell : cells) std::replace(cell.begin(), cell.end(), '\n', ' ');
    grid.add_row(std::move(cells));
  }
  return grid.org();
}

std::string grid_rows(const std::vector<ProfileRow>& rows, double total_s, std::string_view place,
                      bool has_bound) {
  std::vector<std::string> headers = {fmt::format("{} self time", place),
                                      "cumulative",
                                      "operator info",
                                      "computation",
                                      "FLOPS",
                                      "memory",
                                      "bandwidth",
                                      "in_shapes",
                                      "out_shapes"};
  if (has_bound) headers.emplace_back("bound");
  GridText grid(headers);
  for (size_t i = 0; i < rows.size(); ++i) {
    const ProfileRow& row = rows[i];
    std::string about;
    for (const auto& [key, value] : info(row)) {
      if (!about.empty()) about += '\n';
      about += fmt::format("{}", fmt::join(wrap_text(value, kInfoWidth), "\n-  "));
    }
    const bool computes = !std::isnan(row.computation);
    const bool moves = !std::isnan(row.memory);
    std::vector<std::string> cells = {
        fmt::format("#{}\n{}\n{}", i, python_short(row.time_s), percent(row.time_s, total_s)),
        fmt::format("{}\n{}", python_short(row.cumulative_s), percent(row.cumulative_s, total_s)),
        about,
        with_unit(row.computation, !computes, kDecimal, "FLO", "FLO"),
        with_unit(row.flops_per_s(), !computes, kDecimal, "FLOPS", "FLOPS"),
        with_unit(row.memory, !moves, kBinary, "byte", "iB"),
        with_unit(row.bytes_per_s(), !moves, kBinary, "byte/s", "iB/s"),
        shapes(row, row.in_shapes, row.in_layouts, "\n"),
        shapes(row, row.out_shapes, std::nullopt, "\n")};
    if (has_bound) cells.push_back(row.bound);
    grid.add_row(std::move(cells));
  }
  return grid.fancy_grid();
}

}  // namespace

std::string profile_summary(const ProfileAnalysis& analysis, const ProfileTextOptions& options) {
  GridText grid({"name", "value"});
  const auto seconds = [](double value) {
    return std::isnan(value) ? "N/A" : fmt::format("{:g}", value);
  };
  grid.add_row({"total device time", seconds(analysis.device_s)});
  grid.add_row({"total host time", seconds(analysis.host_s)});
  const auto copies = [](const CopyTimes& times) {
    return fmt::format("tot={:.4f} avg={:.4f}", times.total_s, times.mean_s);
  };
  if (analysis.copy) grid.add_row({"copy time", copies(*analysis.copy)});
  if (analysis.copy_wait) grid.add_row({"copy wait time", copies(*analysis.copy_wait)});
  return options.is_wiki ? grid.org() : grid.simple();
}

std::string profile_rows(const ProfileAnalysis& analysis, bool of_host,
                         const ProfileTextOptions& options) {
  const std::vector<ProfileRow>& rows = of_host ? analysis.host : analysis.device;
  const double total_s = of_host ? analysis.host_s : analysis.device_s;
  const bool has_bound = !analysis.is_static;
  if (options.only_operators) return plain_rows(rows);
  if (options.is_wiki) return wiki_rows(rows, total_s, has_bound);
  return grid_rows(rows, total_s, of_host ? "host" : "device", has_bound);
}

}  // namespace stepscope
