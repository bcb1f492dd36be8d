#include "analyze/render_csv.h"

#include "analyze/utf8.h"

#include <charconv>
#include <string>
#include <string_view>

namespace stepscope {
namespace {

void append_field(std::string& out, std::string_view text) {
  const bool quoted = text.find_first_of(",\"\r\n") != std::string_view::npos;
  if (!quoted) {
    append_valid_utf8(out, text);
    return;
  }
  out += '"';
  std::string mended;
  append_valid_utf8(mended, text);
  for (const char c : mended) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void append_csv_cell(std::string& out, const Column& column, size_t row) {
  if (column.is_null(row)) return;
  char digits[32];
  std::to_chars_result end{};
  switch (column.type()) {
    case ColumnType::kString:
      append_field(out, column.get_string(row));
      return;
    case ColumnType::kBool:
      out += column.get_int(row) != 0 ? "true" : "false";
      return;
    case ColumnType::kInt:
      end = std::to_chars(digits, digits + sizeof digits, column.get_int(row));
      break;
    case ColumnType::kDouble:
      end = std::to_chars(digits, digits + sizeof digits, column.get_double(row));
      break;
  }
  out.append(digits, end.ptr);
}

}  // namespace

void render_csv(const Table& table, const TextSink& sink) {
  ChunkedText chunks(sink);
  std::string& out = chunks.text();
  for (const Column& column : table.columns()) {
    if (&column != &table.columns().front()) out += ',';
    append_field(out, column.name());
  }
  out += "\r\n";
  for (size_t row = 0; row < table.rows(); ++row) {
    bool first = true;
    for (const Column& column : table.columns()) {
      if (!first) out += ',';
      first = false;
      append_csv_cell(out, column, row);
    }
    out += "\r\n";
    chunks.end_row();
  }
}

}  // namespace stepscope
