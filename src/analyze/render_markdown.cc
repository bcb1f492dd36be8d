#include "analyze/render_markdown.h"

#include "analyze/text_layout.h"

#include <string>
#include <string_view>
#include <vector>

namespace stepscope {
namespace {

void append_escaped(std::string& out, std::string_view text) {
  size_t indent = 0;
  while (indent < text.size() && text[indent] == ' ') ++indent;
  for (size_t i = 0; i + 1 < indent; i += 2) out += "&emsp;";
  for (const char c : text.substr(indent)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '\\':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '~':
      case '|':
        out += '\\';
        [[fallthrough]];
      default:
        out += c;
    }
  }
}

}  // namespace

void render_markdown(const Table& table, const TextSink& sink) {
  ChunkedText chunks(sink);
  std::string& out = chunks.text();
  const std::vector<TextColumn> columns = build_text_columns(table);
  for (const std::string& line : table.verdict) {
    append_escaped(out, line);
    out += "\n\n";
  }
  if (!columns.empty()) {
    out += '|';
    for (const TextColumn& column : columns) {
      out += ' ';
      append_escaped(out, column.title);
      out += " |";
    }
    out += "\n|";
    for (const TextColumn& column : columns) out += column.is_number ? "---:|" : "---|";
    out += '\n';
  }
  for (size_t row = 0; row < table.rows(); ++row) {
    out += '|';
    for (const TextColumn& column : columns) {
      out += ' ';
      append_escaped(out, column.cell(row));
      out += " |";
    }
    out += '\n';
    chunks.end_row();
  }
  for (const std::string& line : build_footer(table)) {
    out += '\n';
    append_escaped(out, line);
    out += '\n';
  }
}

}  // namespace stepscope
