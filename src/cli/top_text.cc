#include "cli/top_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/utf8.h"

namespace stepscope::cli {
namespace {

constexpr std::string_view kGap = "   ";
constexpr std::string_view kEllipsis = "…";

std::string elide_end(const std::string& text, size_t width) {
  if (display_width(text) <= width) return text;
  size_t end = 0;
  for (Utf8Cursor cursor(text); !cursor.at_end();) {
    cursor.next();
    if (display_width(std::string_view(text).substr(0, cursor.offset())) + 1 > width) break;
    end = cursor.offset();
  }
  return text.substr(0, end).append(width > 0 ? kEllipsis : "");
}

std::string spaces(size_t count) { return std::string(count, ' '); }

}  // namespace

std::string fit_left(std::string_view text, size_t width) {
  std::string fitted = elide_middle(printable(text), width);
  const size_t used = display_width(fitted);
  return fitted + spaces(width - std::min(used, width));
}

std::string fit_right(std::string_view text, size_t width) {
  const std::string fitted = elide_middle(printable(text), width);
  const size_t used = display_width(fitted);
  return spaces(width - std::min(used, width)) + fitted;
}

std::string fit_place(std::string_view file, int32_t line, size_t width) {
  std::string place = printable(file);
  if (line > 0 && !place.empty()) place += ":" + std::to_string(line);
  if (display_width(place) <= width) return place;
  for (size_t slash = place.find('/', 1); slash != place.npos; slash = place.find('/', slash + 1)) {
    std::string tail = std::string(kEllipsis) + place.substr(slash);
    if (display_width(tail) <= width) return tail;
  }
  const size_t slash = place.rfind('/');
  return elide_middle(slash == place.npos ? place : place.substr(slash + 1), width);
}

std::string fit_pieces(const std::vector<std::string>& pieces, size_t width) {
  std::string line;
  for (const std::string& piece : pieces) {
    const std::string text = printable(piece);
    if (text.empty()) continue;
    if (line.empty()) {
      line = elide_middle(text, width);
    } else if (display_width(line) + kGap.size() + display_width(text) <= width) {
      line.append(kGap).append(text);
    }
  }
  return line;
}

std::string fit_ends(std::string_view left, std::string_view right, size_t width) {
  const std::string end = printable(right);
  const size_t end_width = display_width(end);
  constexpr size_t kLeast = 24;  // of the left one, where it gives way
  if (end.empty() || end_width + kGap.size() + kLeast > width) {
    return elide_end(printable(left), width);
  }
  const size_t room = width - end_width - kGap.size();
  return fit_left(elide_end(printable(left), room), room).append(kGap).append(end);
}

std::string to_ascii(std::string_view text) {
  std::string out;
  for (Utf8Cursor cursor(text); !cursor.at_end();) {
    const size_t begin = cursor.offset();
    const char32_t code_point = cursor.next();
    const std::string_view letter = text.substr(begin, cursor.offset() - begin);
    if (code_point < 0x80) {
      out += letter;
    } else if (letter == kEllipsis) {
      out += '~';
    } else {
      out.append(display_width(letter), '?');
    }
  }
  return out;
}

std::string percent_text(double fraction) {
  return fmt::format("{:.1f}%", std::clamp(fraction, 0.0, 1e6) * 100);
}

std::string span_text(int64_t ns) {
  const double seconds = static_cast<double>(std::max<int64_t>(ns, 0)) / 1e9;
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace stepscope::cli
