#include "analyze/render_text.h"

#include "analyze/text_layout.h"
#include "analyze/utf8.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kBarWidth = 12;
constexpr size_t kWidthForBars = 90;  // from here on a table in sections always has bars
constexpr size_t kMaxNatural = 400;   // no column is wider, however long its names

constexpr std::string_view kBold = "\x1b[1m", kDim = "\x1b[2m", kCyan = "\x1b[36m",
                           kYellow = "\x1b[33m", kReset = "\x1b[0m";

struct FittedColumn {
  TextColumn text;
  std::vector<std::string> title_lines;
  size_t natural = 0;  // the width that its cells want
  size_t width = 0;
  bool is_zero = false;  // in every row
  bool is_bar = false;
};

void append_styled(std::string& out, std::string_view text, std::string_view style, bool color) {
  if (color && !style.empty() && !text.empty()) {
    out += style;
    out += text;
    out += kReset;
  } else {
    out += text;
  }
}

// A title of several words takes several lines rather than widen its column.
std::vector<std::string> wrap_words(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!lines.empty() && display_width(lines.back()) + 1 + display_width(word) <= width) {
      lines.back() += ' ';
      lines.back() += word;
    } else {
      lines.emplace_back(word);
    }
    at = end + 1;
  }
  return lines;
}

size_t longest_word(std::string_view text) {
  size_t longest = 0;
  for (const std::string& word : wrap_words(text, 0))
    longest = std::max(longest, display_width(word));
  return longest;
}

std::string bar(double fraction) {
  static constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double clamped = std::clamp(fraction, 0.0, 1.0);
  const auto eighths = static_cast<size_t>(clamped * kBarWidth * 8 + 0.5);
  std::string text;
  for (size_t i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[eighths % 8];
  return text;
}

size_t smallest_width(const FittedColumn& column, bool is_first_text, size_t width) {
  if (column.text.is_number) return column.natural;
  const size_t wanted =
      is_first_text ? std::max<size_t>(16, width * 3 / 10) : std::max<size_t>(10, width / 5);
  return std::min(column.natural, wanted);
}

// What is given up first where a table is too wide: columns of zeros, then moments, then the last
// one.
size_t find_least_important(const std::vector<FittedColumn>& columns) {
  for (size_t i = columns.size(); i-- > 1;) {
    if (columns[i].is_zero) return i;
  }
  for (size_t i = columns.size(); i-- > 1;) {
    if (columns[i].text.name == "start_ns") return i;
  }
  return columns.size() - 1;
}

// Gives every column the least that it can do with; says what they take together.
size_t squeeze(std::vector<FittedColumn>& columns, size_t width) {
  bool is_first_text = true;
  size_t used = 0;
  for (FittedColumn& column : columns) {
    column.width = smallest_width(column, is_first_text, width);
    if (!column.text.is_number) is_first_text = false;
    used += column.width + kGap;
  }
  return used > 0 ? used - kGap : 0;
}

// Gives every column its width; columns that have no room are taken out and their names returned.
std::vector<std::string> fit(std::vector<FittedColumn>& columns, size_t width) {
  std::vector<std::string> dropped;
  if (width == 0) {
    for (FittedColumn& column : columns) column.width = column.natural;
    return dropped;
  }
  size_t used = squeeze(columns, width);
  while (used > width && columns.size() > 1) {
    const size_t least = find_least_important(columns);
    dropped.push_back(columns[least].text.name);
    columns.erase(columns.begin() + static_cast<ptrdiff_t>(least));
    used = squeeze(columns, width);
  }
  if (columns.size() == 1 && columns[0].width > width) columns[0].width = width;
  while (used < width) {
    FittedColumn* squeezed = nullptr;
    for (FittedColumn& column : columns) {
      if (column.width < column.natural &&
          (squeezed == nullptr ||
           column.natural - column.width > squeezed->natural - squeezed->width)) {
        squeezed = &column;
      }
    }
    if (squeezed == nullptr) break;
    ++squeezed->width;
    ++used;
  }
  std::reverse(dropped.begin(), dropped.end());
  return dropped;
}

bool is_zero_text(std::string_view cell) {
  return cell.empty() || cell == "0" || cell == "0%" || cell.starts_with("0 ");
}

std::vector<FittedColumn> measure(const Table& table) {
  std::vector<FittedColumn> columns;
  for (TextColumn& text : build_text_columns(table)) {
    FittedColumn column;
    column.is_zero = text.is_number;
    for (size_t row = 0; row < table.rows(); ++row) {
      const std::string cell = text.cell(row);
      column.natural = std::max(column.natural, display_width(cell));
      column.is_zero = column.is_zero && is_zero_text(cell);
    }
    column.natural = std::clamp<size_t>(column.natural, longest_word(text.title), kMaxNatural);
    column.text = std::move(text);
    columns.push_back(std::move(column));
  }
  return columns;
}

// A bar beside the shares, where there is room left.
void add_bar(std::vector<FittedColumn>& columns, const Table& table, size_t width) {
  const Column* fraction = table.find("fraction");
  if (fraction == nullptr || fraction->unit() != Unit::kFraction) return;
  size_t used = kBarWidth + kGap;
  for (const FittedColumn& column : columns) used += column.width + kGap;
  if (width != 0 && used - kGap > width) return;
  const auto at = std::find_if(columns.begin(), columns.end(), [](const FittedColumn& column) {
    return column.text.name == "fraction";
  });
  if (at == columns.end()) return;
  FittedColumn column;
  column.is_bar = true;
  column.width = kBarWidth;
  column.text.cell = [fraction](size_t row) {
    return fraction->is_null(row) ? std::string() : bar(fraction->get_number(row));
  };
  columns.insert(at + 1, std::move(column));
}

std::string_view style_of(const FittedColumn& column, std::string_view cell) {
  if (column.is_bar) return kCyan;
  if (column.text.name == "section") return kBold;
  if (!column.text.is_number) return "";
  return is_zero_text(cell) || cell == "–" ? kDim : "";
}

void append_cell(std::string& out, std::string_view text, const FittedColumn& column, size_t width,
                 std::string_view style, bool color) {
  const std::string cell = elide_middle(text, width);
  const size_t used = display_width(cell);
  const size_t padding = width > used ? width - used : 0;
  if (column.text.is_number) out.append(padding, ' ');
  append_styled(out, cell, style, color);
  if (!column.text.is_number) out.append(padding, ' ');
}

// A row. A text with nothing after it may take the room of the columns that follow.
void append_row(std::string& out, const std::vector<FittedColumn>& columns,
                const std::vector<std::string>& cells, bool color) {
  size_t last = columns.size();
  while (last > 0 && cells[last - 1].empty()) --last;
  size_t room = 0;
  for (size_t i = last; i < columns.size(); ++i) room += kGap + columns[i].width;
  for (size_t i = 0; i < last; ++i) {
    if (i > 0) out.append(kGap, ' ');
    const FittedColumn& column = columns[i];
    const bool spreads = i + 1 == last && !column.text.is_number;
    append_cell(out, cells[i], column, column.width + (spreads ? room : 0),
                style_of(column, cells[i]), color);
  }
}

void trim_and_end_line(std::string& out, size_t line_begin) {
  while (out.size() > line_begin && out.back() == ' ') out.pop_back();
  out += '\n';
}

void append_header(std::string& out, const std::vector<FittedColumn>& columns, bool color) {
  size_t lines = 0, total = 0;
  for (const FittedColumn& column : columns) {
    lines = std::max(lines, column.title_lines.size());
    total += column.width + (total > 0 ? kGap : 0);
  }
  for (size_t line = 0; line < lines; ++line) {
    const size_t begin = out.size();
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) out.append(kGap, ' ');
      // Short titles stand on the last line.
      const size_t skip = lines - columns[i].title_lines.size();
      std::string_view title;
      if (line >= skip) title = columns[i].title_lines[line - skip];
      append_cell(out, title, columns[i], columns[i].width, kBold, color);
    }
    trim_and_end_line(out, begin);
  }
  std::string rule;
  for (size_t i = 0; i < total; ++i) rule += "─";
  append_styled(out, rule, kDim, color);
  out += '\n';
}

void append_footer(std::string& out, const Table& table, const std::vector<std::string>& dropped,
                   const TextStyle& style) {
  std::vector<std::string> lines;
  const bool is_verdict_alone = table.columns().empty() && !table.verdict.empty();
  if (table.rows() == 0 && !is_verdict_alone) lines.push_back("no rows");
  if (!dropped.empty()) {
    std::string names;
    for (const std::string& name : dropped) names += (names.empty() ? "" : ", ") + name;
    lines.push_back(std::to_string(dropped.size()) +
                    (dropped.size() == 1 ? " more column" : " more columns") + " (" +
                    printable(names) + "): widen the terminal, or --format csv|json");
  }
  const size_t own = lines.size();
  for (std::string& line : build_footer(table)) lines.push_back(std::move(line));
  if (!lines.empty() && table.rows() > 0) out += '\n';
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool is_fault = i >= own && lines[i].starts_with("the file had faults");
    const size_t indent = std::min(lines[i].find_first_not_of(' '), lines[i].size());
    const size_t width = style.width > indent ? style.width - indent : SIZE_MAX;
    for (const std::string& line : wrap_words(std::string_view(lines[i]).substr(indent), width)) {
      out.append(indent, ' ');
      append_styled(out, line, is_fault ? kYellow : kDim, style.color);
      out += '\n';
    }
  }
}

// Lines after the first begin under the text of the first.
void append_wrapped(std::string& out, std::string_view text, size_t indent, size_t width) {
  const size_t room = width == 0 ? SIZE_MAX : std::max<size_t>(20, width - std::min(width, indent));
  bool is_first = true;
  for (const std::string& line : wrap_words(text, room)) {
    if (!is_first) out.append(indent, ' ');
    is_first = false;
    out += line;
    out += '\n';
  }
  if (is_first) out += '\n';
}

void append_verdict(std::string& out, const Table& table, const TextStyle& style) {
  for (const std::string& line : table.verdict) {
    const size_t indent = line.find_first_not_of(' ');
    if (indent == line.npos) continue;
    const bool is_numbered = line[indent] >= '1' && line[indent] <= '9' && line.find(". ") < 4;
    out.append(indent, ' ');
    append_wrapped(out, std::string_view(line).substr(indent), indent + (is_numbered ? 3 : 0),
                   style.width);
  }
  if (!table.verdict.empty()) out += '\n';
}

// A row is a paragraph, its first cell the heading: for cells that are sentences.
void append_paragraphs(std::string& out, const Table& table, const TextStyle& style) {
  const std::vector<TextColumn> columns = build_text_columns(table);
  size_t title_width = 0;
  for (const TextColumn& column : columns) {
    title_width = std::max(title_width, display_width(column.title));
  }
  for (size_t row = 0; row < table.rows(); ++row) {
    if (row > 0) out += '\n';
    for (const TextColumn& column : columns) {
      const std::string cell = column.cell(row);
      if (cell.empty()) continue;
      if (&column == &columns.front()) {
        append_styled(out, cell, kBold, style.color);
        out += '\n';
        continue;
      }
      out += "  ";
      append_styled(out, column.title, kDim, style.color);
      out.append(title_width - display_width(column.title) + kGap, ' ');
      append_wrapped(out, cell, 2 + title_width + kGap, style.width);
    }
  }
}

}  // namespace

void render_text(const Table& table, const TextStyle& style, const TextSink& sink) {
  ChunkedText chunks(sink);
  std::string& out = chunks.text();
  append_verdict(out, table, style);
  if (table.has_sentences) {
    append_paragraphs(out, table, style);
    return append_footer(out, table, {}, style);
  }
  std::vector<FittedColumn> columns = measure(table);
  const Column* section = table.find("section");
  const bool reserves_bars =
      section != nullptr && table.find("fraction") != nullptr && style.width >= kWidthForBars;
  const std::vector<std::string> dropped =
      fit(columns, reserves_bars ? style.width - kBarWidth - kGap : style.width);
  add_bar(columns, table, style.width);
  for (FittedColumn& column : columns) {
    column.title_lines = wrap_words(column.text.title, column.width);
  }
  if (table.rows() > 0) append_header(out, columns, style.color);
  std::vector<std::string> cells;
  for (size_t row = 0; row < table.rows(); ++row) {
    if (section != nullptr && row > 0 && section->type() == ColumnType::kString &&
        section->get_string(row) != section->get_string(row - 1)) {
      out += '\n';
    }
    cells.clear();
    for (const FittedColumn& column : columns) {
      cells.push_back(column.text.cell(row));
      if (cells.back().empty() && column.text.is_number && section == nullptr) cells.back() = "–";
    }
    const size_t begin = out.size();
    append_row(out, columns, cells, style.color);
    trim_and_end_line(out, begin);
    chunks.end_row();
  }
  append_footer(out, table, dropped, style);
}

}  // namespace stepscope
