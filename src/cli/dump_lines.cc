#include "cli/dump_lines.h"

#include <algorithm>

#include "analyze/utf8.h"

namespace stepscope::cli {
namespace {

constexpr std::string_view kBold = "\x1b[1m", kDim = "\x1b[2m", kCyan = "\x1b[36m",
                           kGreen = "\x1b[32m", kYellow = "\x1b[33m", kReset = "\x1b[0m";
constexpr size_t kIndent = 4;
constexpr size_t kMaxIndent = 32;
constexpr size_t kMinFileColumns = 12;

// Its end: of a path the part that tells more.
std::string keep_end(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  size_t begin = text.size();
  size_t used = 1;  // "…"
  while (begin > 0) {
    size_t before = begin - 1;
    while (before > 0 && (static_cast<unsigned char>(text[before]) & 0xC0) == 0x80) --before;
    used += display_width(text.substr(before, begin - before));
    if (used > width) break;
    begin = before;
  }
  return "…" + std::string(text.substr(begin));
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

size_t DumpLines::indent_of(size_t level) const {
  return std::min({kIndent * level, kMaxIndent, style_.columns / 3});
}

size_t DumpLines::room_after(size_t columns) const {
  return style_.columns - std::min(columns, style_.columns);
}

void DumpLines::append_styled(std::string_view text, std::string_view style) {
  if (style_.has_color && !text.empty()) {
    text_.append(style).append(text).append(kReset);
  } else {
    text_ += text;
  }
}

void DumpLines::add_title(std::string_view title, std::string_view state, bool is_marked) {
  const size_t both = room_after(2);
  const size_t state_columns = std::min(display_width(state), both);
  const size_t for_title = std::max(both - state_columns, both / 2);
  const std::string shown = elide_middle(title, for_title);
  append_styled(shown, kBold);
  text_ += ": ";
  append_styled(elide_middle(state, both - std::min(both, display_width(shown))),
                is_marked ? kGreen : "");
  text_ += '\n';
}

void DumpLines::add_frame(size_t level, const DumpFrame& frame) {
  const size_t room = room_after(indent_of(level));
  std::string place = printable(frame.is_native ? file_name(frame.file) : frame.file);
  if (frame.line > 0) place += ":" + std::to_string(frame.line);
  std::string name = printable(frame.name);
  // The file gives way first.
  const size_t name_columns = display_width(name) + 1;
  const size_t for_place =
      room > name_columns + kMinFileColumns ? room - name_columns : kMinFileColumns;
  place = keep_end(place, for_place);
  name = elide_middle(name, room - std::min(room, display_width(place) + 1));
  text_.append(indent_of(level), ' ');
  if (!place.empty()) {
    append_styled(place, frame.is_native ? kDim : kCyan);
    text_ += ' ';
  }
  append_styled(name, frame.is_native ? kDim : "");
  text_ += '\n';
}

void DumpLines::add_plain(size_t level, std::string_view text) {
  text_.append(indent_of(level), ' ');
  text_ += elide_middle(text, room_after(indent_of(level)));
  text_ += '\n';
}

void DumpLines::add_dim(size_t level, std::string_view text) {
  text_.append(indent_of(level), ' ');
  append_styled(elide_middle(text, room_after(indent_of(level))), kDim);
  text_ += '\n';
}

void DumpLines::add_remark(std::string_view text) {
  std::string line = "->";
  size_t used = 2;
  const auto end_line = [&] {
    append_styled(line, kYellow);
    text_ += '\n';
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string word = elide_middle(text.substr(0, end), room_after(3));
    text.remove_prefix(std::min(text.size(), end + 1));
    const size_t width = display_width(word);
    if (used > 2 && used + 1 + width > style_.columns) {
      end_line();
      line = "  ";
      used = 2;
    }
    line.append(" ").append(word);
    used += 1 + width;
  }
  end_line();
}

}  // namespace stepscope::cli
