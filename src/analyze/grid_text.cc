#include "analyze/grid_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "analyze/utf8.h"

namespace stepscope {
namespace {

constexpr size_t kHeaderPadding = 2;

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t begin = 0;;) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(trim(text.substr(begin, end - begin)));
    if (end == text.size()) return lines;
    begin = end + 1;
  }
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_integer(std::string_view text) {
  return text.find_first_not_of("-0123456789") == text.npos;
}

// Digits after the point, or after the exponent's letter; -1 of a whole number.
int digits_after_point(std::string_view number) {
  size_t at = number.rfind('.');
  if (at == number.npos) at = number.rfind('e');
  return at == number.npos ? -1 : static_cast<int>(number.size() - at - 1);
}

struct GridColumn {
  std::string header;
  std::vector<std::string> lines;
  size_t width = 0;
  bool is_number = false;

  void finish(bool has_header) {
    is_number = !lines.empty() && std::all_of(lines.begin(), lines.end(), [](const auto& line) {
      return parse_number(line).has_value();
    });
    if (is_number) align_numbers();
    width = has_header ? display_width(header) + kHeaderPadding : 0;
    for (const std::string& line : lines) width = std::max(width, display_width(line));
  }

  void align_numbers() {
    const bool are_integers =
        std::all_of(lines.begin(), lines.end(), [](const auto& line) { return is_integer(line); });
    int most = -1;
    for (std::string& line : lines) {
      if (!are_integers) line = fmt::format("{:g}", *parse_number(line));
      most = std::max(most, digits_after_point(line));
    }
    for (std::string& line : lines) {
      line.append(static_cast<size_t>(most - digits_after_point(line)), ' ');
    }
  }

  std::string cell(const std::string& text) const {
    const std::string gap(width - display_width(text), ' ');
    return is_number ? gap + text : text + gap;
  }
};

std::string join(const std::vector<GridColumn>& columns, std::string_view left,
                 std::string_view between, std::string_view right, auto&& cell_of) {
  std::string line(left);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) line += between;
    line += cell_of(columns[i]);
  }
  line += right;
  return line + "\n";
}

std::string repeat(std::string_view text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

std::string GridText::fancy_grid() const {
  std::vector<GridColumn> columns(headers_.size());
  std::vector<size_t> heights;
  for (const auto& row : rows_) {
    std::vector<std::vector<std::string>> cells;
    size_t height = 1;
    for (const std::string& cell : row) {
      cells.push_back(split_lines(cell));
      height = std::max(height, cells.back().size());
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      cells[i].resize(height);
      for (std::string& line : cells[i]) columns[i].lines.push_back(std::move(line));
    }
    heights.push_back(height);
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    columns[i].header = headers_[i];
    columns[i].finish(true);
  }
  const auto rule = [&](std::string_view left, std::string_view dash, std::string_view between,
                        std::string_view right) {
    return join(columns, left, between, right,
                [&](const GridColumn& column) { return repeat(dash, column.width + 2); });
  };
  std::string text = rule("╒", "═", "╤", "╕");
  text += join(columns, "│ ", " │ ", " │",
               [](const GridColumn& column) { return column.cell(column.header); });
  text += rule("╞", "═", "╪", "╡");
  size_t line = 0;
  for (size_t row = 0; row < heights.size(); ++row) {
    if (row > 0) text += rule("├", "─", "┼", "┤");
    for (size_t end = line + heights[row]; line < end; ++line) {
      text += join(columns, "│ ", " │ ", " │",
                   [&](const GridColumn& column) { return column.cell(column.lines[line]); });
    }
  }
  return text + rule("╘", "═", "╧", "╛");
}

namespace {

std::vector<GridColumn> one_line_columns(const std::vector<std::string>& headers,
                                         const std::vector<std::vector<std::string>>& rows,
                                         bool has_header) {
  std::vector<GridColumn> columns(headers.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    columns[i].header = headers[i];
    for (const auto& row : rows) columns[i].lines.emplace_back(trim(row[i]));
    columns[i].finish(has_header);
  }
  return columns;
}

}  // namespace

std::string GridText::simple() const {
  const std::vector<GridColumn> columns = one_line_columns(headers_, rows_, false);
  const std::string rule = join(columns, "", "  ", "",
                                [](const GridColumn& column) { return repeat("-", column.width); });
  std::string text = rule;
  for (size_t row = 0; row < rows_.size(); ++row) {
    std::string line = join(columns, "", "  ", "", [&](const GridColumn& column) {
      return column.cell(column.lines[row]);
    });
    line.pop_back();
    while (line.ends_with(' ')) line.pop_back();
    text += line + "\n";
  }
  return text + rule;
}

std::string GridText::org() const {
  const std::vector<GridColumn> columns = one_line_columns(headers_, rows_, true);
  std::string text = join(columns, "| ", " | ", " |",
                          [](const GridColumn& column) { return column.cell(column.header); });
  text += join(columns, "|", "|", "|",
               [](const GridColumn& column) { return repeat("-", column.width + 2); });
  for (size_t row = 0; row < rows_.size(); ++row) {
    text += join(columns, "| ", " | ", " |",
                 [&](const GridColumn& column) { return column.cell(column.lines[row]); });
  }
  return text;
}

std::string python_short(double value) {
  std::string text = fmt::format("{:.3g}", value);
  if (text.find_first_not_of("-0123456789") != text.npos) return text;
  // With a point behind it there would be four digits.
  const size_t digits = text.size() - (text.starts_with('-') ? 1 : 0);
  if (digits < 3) return text + ".0";
  text = fmt::format("{:.2e}", value);
  const size_t e = text.find('e');
  size_t last = text.find_last_not_of('0', e - 1);
  if (text[last] == '.') --last;
  return text.substr(0, last + 1) + text.substr(e);
}

namespace {

bool is_letter(char32_t c) {
  return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || c == U'_' || c >= 0x80;
}

// What is not cut unless it is longer than a line: words, and parts of words up to a hyphen between
// two letters and two letters.
struct WordPart {
  std::u32string_view text;
  bool is_after_space = false;
};

std::vector<WordPart> split_words(std::u32string_view text) {
  std::vector<WordPart> parts;
  size_t begin = 0;
  bool is_after_space = false;
  const auto add = [&](size_t end) {
    if (end > begin) parts.push_back({text.substr(begin, end - begin), is_after_space});
    is_after_space = false;
    begin = end;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == U' ') {
      add(i);
      begin = i + 1;
      is_after_space = true;
    } else if (text[i] == U'-' && i >= begin + 2 && i + 2 < text.size() && is_letter(text[i - 1]) &&
               is_letter(text[i - 2]) && is_letter(text[i + 1]) && is_letter(text[i + 2])) {
      add(i + 1);
    }
  }
  add(text.size());
  return parts;
}

// Where to cut what is longer than `room`: behind a hyphen if there is one.
size_t find_cut(std::u32string_view text, size_t room) {
  const size_t hyphen = text.substr(0, room).rfind(U'-');
  if (hyphen == text.npos) return room;
  return text.substr(0, hyphen).find_first_not_of(U'-') == text.npos ? room : hyphen + 1;
}

}  // namespace

std::vector<std::string> wrap_text(const std::string& text, size_t width) {
  std::u32string letters;
  for (Utf8Cursor cursor(text); !cursor.at_end();) letters += cursor.next();
  std::vector<std::u32string> lines;
  std::u32string line;
  const auto flush = [&] {
    if (!line.empty()) lines.push_back(std::move(line));
    line.clear();
  };
  for (WordPart part : split_words(letters)) {
    const auto gap = [&] { return size_t{part.is_after_space && !line.empty()}; };
    if (line.size() + gap() + part.text.size() > width) {
      // One that fits into no line is cut, from what is left of this one on.
      if (part.text.size() <= width) flush();
      while (part.text.size() > width) {
        const size_t used = line.size() + gap();
        if (used < width) {
          const size_t end = find_cut(part.text, width - used);
          line.append(gap(), U' ');
          line += part.text.substr(0, end);
          part.text.remove_prefix(end);
        }
        flush();
      }
    }
    line.append(gap(), U' ');
    line += part.text;
  }
  flush();
  std::vector<std::string> result;
  for (const std::u32string& one : lines) {
    std::string& out = result.emplace_back();
    for (const char32_t letter : one) append_code_point(out, letter);
  }
  return result;
}

}  // namespace stepscope
