#include "analyze/text_layout.h"

#include "analyze/fault_summary.h"
#include "analyze/text_value.h"
#include "analyze/utf8.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace stepscope {
namespace {

constexpr size_t kMaxStatNotes = 3;
constexpr int64_t kMaxIndent = 40;

bool has_values(const Column& column) {
  for (size_t row = 0; row < column.size(); ++row) {
    if (!column.is_null(row)) return true;
  }
  return column.size() == 0;
}

std::string printable_cell(const Column& column, size_t row) {
  if (column.type() == ColumnType::kString) {
    return column.is_null(row) ? "" : printable(column.get_string(row));
  }
  return text_of_cell(column, row);
}

TextColumn plain_column(const Column& column) {
  return {column.name(), printable(column_title(column)), column.type() != ColumnType::kString,
          [&column](size_t row) { return printable_cell(column, row); }};
}

TextColumn indented_column(const Column& name, const Column& depth) {
  TextColumn text = plain_column(name);
  text.cell = [&name, &depth](size_t row) {
    const auto indent = std::clamp<int64_t>(depth.get_int(row), 0, kMaxIndent);
    return std::string(static_cast<size_t>(indent) * 2, ' ') + printable_cell(name, row);
  };
  return text;
}

TextColumn section_column(const Column& section) {
  TextColumn text = plain_column(section);
  text.cell = [&section](size_t row) {
    if (row > 0 && section.get_string(row) == section.get_string(row - 1)) return std::string();
    return printable_cell(section, row);
  };
  return text;
}

TextColumn calls_column(const Column& calls, const Column& primitive) {
  TextColumn text = plain_column(calls);
  text.cell = [&calls, &primitive](size_t row) {
    std::string cell = text_of_cell(calls, row);
    if (!primitive.is_null(row) && primitive.get_int(row) != calls.get_int(row)) {
      cell += "/" + text_of_cell(primitive, row);
    }
    return cell;
  };
  return text;
}

// Two columns of the table that are one to the eye: file and line, or those of a caller or callee.
struct Location {
  std::string_view prefix;
  const Column* file = nullptr;
  const Column* line = nullptr;

  bool has(const Column& column) const { return &column == file || &column == line; }
};

std::vector<Location> find_locations(const Table& table) {
  std::vector<Location> locations;
  for (const std::string_view prefix : {"", "caller_", "callee_"}) {
    const Column* file = table.find(std::string(prefix) + "file");
    const Column* line = table.find(std::string(prefix) + "line");
    if (file != nullptr && line != nullptr && file->type() == ColumnType::kString &&
        line->type() == ColumnType::kInt) {
      locations.push_back({prefix, file, line});
    }
  }
  return locations;
}

TextColumn location_column(const Location& location) {
  std::string name = std::string(location.prefix) + "location";
  std::string title = name;
  std::replace(title.begin(), title.end(), '_', ' ');
  return {std::move(name), std::move(title), false,
          [&file = *location.file, &line = *location.line](size_t row) {
            std::string cell = printable_cell(file, row);
            if (!cell.empty() && !line.is_null(row) && line.get_int(row) > 0) {
              cell += ":" + std::to_string(line.get_int(row));
            }
            return cell;
          }};
}

// A share and its interval: "31.2% ±2.8".
TextColumn share_column(const Column& share, const Column& low, const Column& high) {
  TextColumn text = plain_column(share);
  text.cell = [&share, &low, &high](size_t row) {
    std::string cell = text_of_cell(share, row);
    if (share.is_null(row) || low.is_null(row) || high.is_null(row)) return cell;
    const double value = share.get_double(row);
    const double error = std::max(value - low.get_double(row), high.get_double(row) - value);
    std::string digits = text_of_fraction(std::clamp(error, 0.0, 1.0));
    if (digits.ends_with('%')) digits.pop_back();
    while (digits.ends_with(' ')) digits.pop_back();
    return cell + " ±" + digits;
  };
  return text;
}

// Of a sampled trace: what is shown after the place, where there is room.
bool is_secondary(const Table& table, const Column& column) {
  const Column* cpu = table.find("self_cpu_ns");
  if (cpu == nullptr) return false;
  if (column.name() == "self_ns" || column.name() == "total_ns") return has_values(*cpu);
  return column.name() == "samples" || column.name() == "gil_fraction";
}

TextColumn value_column(std::vector<const Column*> values) {
  return {"value", "value", false, [values = std::move(values)](size_t row) {
            for (const Column* value : values) {
              if (!value->is_null(row)) return printable_cell(*value, row);
            }
            return std::string();
          }};
}

}  // namespace

std::vector<TextColumn> build_text_columns(const Table& table) {
  if (table.view() == kQueryView) {
    std::vector<TextColumn> text;
    for (const Column& column : table.columns()) {
      text.push_back(plain_column(column));
      text.back().title = printable(column.name());
    }
    return text;
  }
  const Column* depth = table.find("depth");
  const Column* name = table.find("name");
  const Column* calls = table.find("calls");
  const Column* primitive = table.find("primitive_calls");
  const bool is_tree = depth != nullptr && name != nullptr && depth->type() == ColumnType::kInt &&
                       name->type() == ColumnType::kString;
  const std::vector<Location> locations = find_locations(table);
  const bool has_primitive = calls != nullptr && primitive != nullptr &&
                             calls->type() == ColumnType::kInt &&
                             primitive->type() == ColumnType::kInt;
  const Column* share = table.find("share");
  const Column* low = table.find("share_low");
  const Column* high = table.find("share_high");
  const bool has_interval = share != nullptr && low != nullptr && high != nullptr;
  std::vector<const Column*> values;
  for (const Column& column : table.columns()) {
    if (column.name().starts_with("value_")) values.push_back(&column);
  }

  std::vector<TextColumn> text;
  bool has_value = false;
  for (const Column& column : table.columns()) {
    if (is_tree && &column == depth) continue;
    const auto has_column = [&](const Location& location) { return location.has(column); };
    if (std::any_of(locations.begin(), locations.end(), has_column)) continue;
    if (has_primitive && &column == primitive) continue;
    if (values.size() > 1 && column.name().starts_with("value_")) {
      if (!has_value) text.push_back(value_column(values));
      has_value = true;
      continue;
    }
    if (!has_values(column) || is_secondary(table, column)) continue;
    if (has_interval && (&column == low || &column == high)) continue;
    if (has_interval && &column == share) {
      text.push_back(share_column(*share, *low, *high));
    } else if (is_tree && &column == name) {
      text.push_back(indented_column(*name, *depth));
    } else if (has_primitive && &column == calls) {
      text.push_back(calls_column(*calls, *primitive));
    } else if (column.name() == "section" && column.type() == ColumnType::kString) {
      text.push_back(section_column(column));
    } else {
      text.push_back(plain_column(column));
    }
  }
  for (const Location& location : locations) {
    if (has_values(*location.file)) text.push_back(location_column(location));
  }
  for (const Column& column : table.columns()) {
    if (is_secondary(table, column) && has_values(column)) text.push_back(plain_column(column));
  }
  return text;
}

std::vector<std::string> build_footer(const Table& table) {
  std::vector<std::string> lines;
  if (table.rows_before_limit > table.rows()) {
    lines.push_back("showing " + text_of_count(static_cast<int64_t>(table.rows())) + " of " +
                    text_of_count(static_cast<int64_t>(table.rows_before_limit)) +
                    " rows (--limit 0 for all)");
  }
  for (const std::string& note : table.notes) lines.push_back(printable(note));
  if (const uint64_t calls = table.stats.get(Stat::kCallsLeftOut); calls > 0) {
    lines.push_back(text_of_count(static_cast<int64_t>(std::min<uint64_t>(calls, INT64_MAX))) +
                    (calls == 1 ? " call was" : " calls were") + " too short to be recorded");
  }
  if (std::string sampler = sampler_summary(table.stats); !sampler.empty()) {
    lines.push_back(std::move(sampler));
  }
  const std::string faults = fault_summary(table.stats);
  if (!faults.empty()) lines.push_back("the file had faults: " + faults);
  const auto& notes = table.stats.notes();
  for (size_t i = 0; i < std::min(notes.size(), kMaxStatNotes); ++i) {
    lines.push_back("  " + printable(notes[i]));
  }
  if (notes.size() > kMaxStatNotes) {
    lines.push_back("  and " + std::to_string(notes.size() - kMaxStatNotes) +
                    " more (--format json has them)");
  }
  return lines;
}

}  // namespace stepscope
