#include "analyze/utf8.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace stepscope {
namespace {

struct CodePointRange {
  char32_t first, last;
};

constexpr std::array<CodePointRange, 11> kZeroWidth = {{{0x0300, 0x036F},
                                                        {0x0483, 0x0489},
                                                        {0x0591, 0x05BD},
                                                        {0x064B, 0x065F},
                                                        {0x1AB0, 0x1AFF},
                                                        {0x1DC0, 0x1DFF},
                                                        {0x200B, 0x200D},
                                                        {0x20D0, 0x20FF},
                                                        {0xFE00, 0xFE0F},
                                                        {0xFE20, 0xFE2F},
                                                        {0xE0100, 0xE01EF}}};
constexpr std::array<CodePointRange, 10> kDoubleWidth = {{{0x1100, 0x115F},
                                                          {0x2E80, 0x303E},
                                                          {0x3041, 0xA4CF},
                                                          {0xAC00, 0xD7A3},
                                                          {0xF900, 0xFAFF},
                                                          {0xFE30, 0xFE6F},
                                                          {0xFF00, 0xFF60},
                                                          {0xFFE0, 0xFFE6},
                                                          {0x1F300, 0x1FAFF},
                                                          {0x20000, 0x3FFFD}}};

template <size_t N>
bool contains(const std::array<CodePointRange, N>& ranges, char32_t code_point) {
  const auto it = std::lower_bound(
      ranges.begin(), ranges.end(), code_point,
      [](const CodePointRange& range, char32_t value) { return range.last < value; });
  return it != ranges.end() && it->first <= code_point;
}

size_t code_point_width(char32_t code_point) {
  if (code_point < 0x300) return 1;
  if (contains(kZeroWidth, code_point)) return 0;
  return contains(kDoubleWidth, code_point) ? 2 : 1;
}

bool is_ascii(std::string_view text) {
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if ((word & 0x8080808080808080u) != 0) return false;
  }
  for (; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) >= 0x80) return false;
  }
  return true;
}

bool changes_direction(char32_t code_point) {
  return (code_point >= 0x202A && code_point <= 0x202E) ||
         (code_point >= 0x2066 && code_point <= 0x2069) || code_point == 0x2028 ||
         code_point == 0x2029;
}

}  // namespace

char32_t Utf8Cursor::next() {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text_[i]); };
  const unsigned char lead = byte(offset_);
  if (lead < 0x80) {
    ++offset_;
    return lead;
  }
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  static constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool valid = lead >= 0xC2 && lead <= 0xF4 && offset_ + length <= text_.size();
  char32_t code_point = lead & (0x7Fu >> length);
  for (size_t i = 1; valid && i < length; ++i) {
    valid = (byte(offset_ + i) & 0xC0) == 0x80;
    code_point = (code_point << 6) | (byte(offset_ + i) & 0x3F);
  }
  valid = valid && code_point >= kSmallest[length] && code_point <= 0x10FFFF &&
          !(code_point >= 0xD800 && code_point <= 0xDFFF);
  offset_ += valid ? length : 1;
  return valid ? code_point : kReplacementCharacter;
}

void append_code_point(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

bool is_valid_utf8(std::string_view text) {
  if (is_ascii(text)) return true;
  for (Utf8Cursor cursor(text); !cursor.at_end();) {
    const size_t before = cursor.offset();
    // A replacement character of one byte was made by the cursor; a real one has three.
    if (cursor.next() == kReplacementCharacter && cursor.offset() == before + 1) return false;
  }
  return true;
}

void append_valid_utf8(std::string& out, std::string_view text) {
  if (is_valid_utf8(text)) {
    out.append(text);
    return;
  }
  for (Utf8Cursor cursor(text); !cursor.at_end();) append_code_point(out, cursor.next());
}

std::string printable(std::string_view text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
  if (plain) return std::string(text);
  std::string out;
  for (Utf8Cursor cursor(text); !cursor.at_end();) {
    const char32_t code_point = cursor.next();
    if (code_point < 0x20) {
      append_code_point(out, 0x2400 + code_point);
    } else if (code_point == 0x7F) {
      append_code_point(out, 0x2421);
    } else if ((code_point >= 0x80 && code_point < 0xA0) || changes_direction(code_point)) {
      append_code_point(out, kReplacementCharacter);
    } else {
      append_code_point(out, code_point);
    }
  }
  return out;
}

size_t display_width(std::string_view text) {
  if (is_ascii(text)) return text.size();
  size_t width = 0;
  for (Utf8Cursor cursor(text); !cursor.at_end();) width += code_point_width(cursor.next());
  return width;
}

std::string elide_middle(std::string_view text, size_t width) {
  // No character is wider than its bytes are many.
  if (text.size() <= width || display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  // The head gets a little more than the tail.
  const size_t head_width = width / 2 + (width - 1) / 8;
  const size_t tail_width = width - 1 - std::min(head_width, width - 1);
  size_t used = 0, head_end = 0;
  for (Utf8Cursor cursor(text); !cursor.at_end();) {
    used += code_point_width(cursor.next());
    if (used > std::min(head_width, width - 1)) break;
    head_end = cursor.offset();
  }
  size_t tail_begin = text.size();
  for (used = 0; tail_begin > head_end;) {
    size_t before = tail_begin - 1;
    while (before > head_end && (static_cast<unsigned char>(text[before]) & 0xC0) == 0x80) --before;
    used += display_width(text.substr(before, tail_begin - before));
    if (used > tail_width) break;
    tail_begin = before;
  }
  std::string out(text.substr(0, head_end));
  out += "…";
  out += text.substr(tail_begin);
  return out;
}

}  // namespace stepscope
