// UTF-8 as files have it: perhaps broken, perhaps with control characters that would steer a
// terminal. Every renderer puts its strings through here, so that what goes out is always valid.
//
//   for (Utf8Cursor cursor(text); !cursor.at_end();) use(cursor.next());
//   std::string cell = elide_middle(printable(name), 20);
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// Walks code points. A byte that is no valid UTF-8 (also overlong forms, surrogates, beyond
// U+10FFFF) comes out as U+FFFD, one per byte.
class Utf8Cursor {
 public:
  explicit Utf8Cursor(std::string_view text) : text_(text) {}
  bool at_end() const { return offset_ == text_.size(); }
  size_t offset() const { return offset_; }
  char32_t next();

 private:
  std::string_view text_;
  size_t offset_ = 0;
};

void append_code_point(std::string& out, char32_t code_point);

// The text with every bad byte replaced. O(n), quick where the text is good.
bool is_valid_utf8(std::string_view text);
void append_valid_utf8(std::string& out, std::string_view text);

// For terminals: valid, on one line, with control characters as their pictures (ESC is "␛") and
// marks that change the direction of text replaced.
std::string printable(std::string_view text);

// Columns that the text takes on a terminal: wide East Asian characters and emoji take two,
// combining marks none.
size_t display_width(std::string_view text);

// At most `width` columns: the middle gives way to "…".
std::string elide_middle(std::string_view text, size_t width);

}  // namespace stepscope
