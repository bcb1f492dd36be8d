#include "analyze/render_json.h"

#include "analyze/utf8.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace stepscope {
namespace {

template <typename Number>
void append_number(std::string& out, Number value) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  static_cast<void>(error);  // 32 characters hold every 64-bit number
  out.append(digits, end);
}

void append_json_cell(std::string& out, const Column& column, size_t row) {
  if (column.is_null(row)) {
    out += "null";
    return;
  }
  switch (column.type()) {
    case ColumnType::kInt:
      append_number(out, column.get_int(row));
      break;
    case ColumnType::kBool:
      out += column.get_int(row) != 0 ? "true" : "false";
      break;
    case ColumnType::kString:
      append_json_string(out, column.get_string(row));
      break;
    case ColumnType::kDouble:
      if (std::isfinite(column.get_double(row))) {
        append_number(out, column.get_double(row));
      } else {
        out += "null";
      }
      break;
  }
}

void append_stats(std::string& out, const Table& table) {
  out += "{\"rows_total\": ";
  append_number(out, std::max<uint64_t>(table.rows_before_limit, table.rows()));
  for (int i = 0; i < kStatCount; ++i) {
    const Stat stat = static_cast<Stat>(i);
    if (table.stats.get(stat) == 0) continue;
    out += ", ";
    append_json_string(out, stat_name(stat));
    out += ": ";
    append_number(out, table.stats.get(stat));
  }
  if (!table.notes.empty() || !table.stats.notes().empty()) {
    out += ", \"notes\": [";
    bool first = true;
    for (const auto* notes : {&table.notes, &table.stats.notes()}) {
      for (const std::string& note : *notes) {
        if (!first) out += ", ";
        first = false;
        append_json_string(out, note);
      }
    }
    out += ']';
  }
  out += '}';
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string mended;
  if (!is_valid_utf8(text)) {
    append_valid_utf8(mended, text);
    text = mended;
  }
  out += '"';
  size_t copied = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7F) continue;
    out.append(text.substr(copied, i - copied));
    copied = i + 1;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += "\\u00";
        out += kHex[c >> 4];
        out += kHex[c & 15];
    }
  }
  out.append(text.substr(copied));
  out += '"';
}

void render_json(const Table& table, const TextSink& sink) {
  if (!table.own_json.empty()) return sink(table.own_json);
  ChunkedText chunks(sink);
  std::string& out = chunks.text();
  out += "{\"view\": ";
  append_json_string(out, table.view());
  out += ",\n \"columns\": [";
  for (const Column& column : table.columns()) {
    if (&column != &table.columns().front()) out += ", ";
    out += "{\"name\": ";
    append_json_string(out, column.name());
    out += ", \"unit\": ";
    append_json_string(out, unit_name(column.unit()));
    out += '}';
  }
  out += "],\n \"rows\": [";
  for (size_t row = 0; row < table.rows(); ++row) {
    out += row == 0 ? "\n  [" : ",\n  [";
    bool first = true;
    for (const Column& column : table.columns()) {
      if (!first) out += ", ";
      first = false;
      append_json_cell(out, column, row);
    }
    out += ']';
    chunks.end_row();
  }
  out += "],\n \"stats\": ";
  append_stats(out, table);
  if (!table.verdict.empty()) {
    out += ",\n \"verdict\": [";
    for (size_t i = 0; i < table.verdict.size(); ++i) {
      if (i > 0) out += ", ";
      append_json_string(out, table.verdict[i]);
    }
    out += ']';
  }
  out += "}\n";
}

}  // namespace stepscope
