#include "export/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "export/utf8_text.h"

namespace stepscope::json {
namespace {

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\' && byte != 0x7F;
}

void append_escaped(std::string& to, char c) {
  switch (c) {
    case '"':
      to += "\\\"";
      break;
    case '\\':
      to += "\\\\";
      break;
    case '\n':
      to += "\\n";
      break;
    case '\t':
      to += "\\t";
      break;
    case '\r':
      to += "\\r";
      break;
    default:
      fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

bool is_scalar_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' ||
         c == 'E';
}

}  // namespace

void append_string(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    const size_t plain =
        static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    to += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const size_t length = utf8_length(text);
    if (length == 0) {
      to += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else if (length == 1) {
      append_escaped(to, text[0]);
      text.remove_prefix(1);
    } else {
      to += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  to += '"';
}

void append_int(std::string& to, int64_t value) {
  const fmt::format_int text(value);
  to.append(text.data(), text.size());
}

void append_uint(std::string& to, uint64_t value) {
  const fmt::format_int text(value);
  to.append(text.data(), text.size());
}

void append_us(std::string& to, int64_t ns) {
  uint64_t magnitude = static_cast<uint64_t>(ns);
  if (ns < 0) {
    to += '-';
    magnitude = ~magnitude + 1;
  }
  append_uint(to, magnitude / 1000);
  const uint64_t rest = magnitude % 1000;
  if (rest == 0) return;
  to += '.';
  const std::array<char, 3> digits = {static_cast<char>('0' + rest / 100),
                                      static_cast<char>('0' + rest / 10 % 10),
                                      static_cast<char>('0' + rest % 10)};
  const size_t count = digits[2] != '0' ? 3 : digits[1] != '0' ? 2 : 1;
  to.append(digits.data(), count);
}

void append_double(std::string& to, double value) {
  if (!std::isfinite(value)) {
    to += "null";
    return;
  }
  const size_t before = to.size();
  fmt::format_to(std::back_inserter(to), "{}", value);
  if (to.find_first_of(".e", before) == std::string::npos) to += ".0";
}

bool is_value(std::string_view text) {
  std::string open;
  bool has_value = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (open.empty() && has_value && !is_space(c) && !is_scalar_character(c)) return false;
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (static_cast<unsigned char>(text[i]) < 0x20) return false;
        if (text[i] == '\\') ++i;
      }
      if (i >= text.size()) return false;
      has_value = true;
    } else if (c == '{' || c == '[') {
      open += c;
      has_value = true;
    } else if (c == '}' || c == ']') {
      if (open.empty() || (open.back() == '{') != (c == '}')) return false;
      open.pop_back();
    } else if (is_scalar_character(c)) {
      has_value = true;
    } else if (!is_space(c) && (open.empty() || (c != ',' && c != ':'))) {
      return false;
    }
  }
  return has_value && open.empty();
}

}  // namespace stepscope::json
