#include "export/utf8_text.h"

#include <algorithm>

namespace stepscope {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// Calls use(character) for each character, with kReplacement for what is none.
template <typename Use>
void for_each_character(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    use(length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

bool is_control(std::string_view character) {
  const auto byte = static_cast<unsigned char>(character[0]);
  return byte < 0x20 || byte == 0x7F;
}

std::string_view xml_of(std::string_view character) {
  switch (character[0]) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '\n':
      return "&#10;";
    default:
      break;
  }
  if (is_control(character)) return kReplacement;
  if (character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF") return kReplacement;
  return character;
}

}  // namespace

size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!is_continuation(byte(i))) return 0;
  }
  if (first == 0xE0 && byte(1) < 0xA0) return 0;  // a longer form than needed
  if (first == 0xED && byte(1) > 0x9F) return 0;  // half of a surrogate pair
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;  // beyond U+10FFFF
  return length;
}

std::string_view beginning(std::string_view text, size_t characters) {
  size_t at = 0;
  while (at < text.size() && characters-- > 0) {
    at += std::max<size_t>(1, utf8_length(text.substr(at)));
  }
  return text.substr(0, at);
}

void append_utf8(std::string& to, std::string_view text) {
  for_each_character(text, [&](std::string_view character) { to += character; });
}

void append_line(std::string& to, std::string_view text) {
  for_each_character(text, [&](std::string_view character) {
    to += is_control(character) ? std::string_view(" ") : character;
  });
}

void append_xml(std::string& to, std::string_view text) {
  for_each_character(text, [&](std::string_view character) { to += xml_of(character); });
}

}  // namespace stepscope
