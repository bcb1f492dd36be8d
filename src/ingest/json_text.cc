#include "ingest/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "ingest/eight_digits.h"

namespace stepscope {
namespace {

constexpr size_t npos = std::string_view::npos;

// Beyond all real times, and small enough that a difference of two never overflows.
constexpr int64_t kMaxTimeNs = 4'000'000'000'000'000'000;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Keys that trace events of the known writers start with.
constexpr std::array<std::string_view, 16> kFirstKeys = {
    "ph",  "name", "cat", "args", "ts",    "pid", "tid",   "id",
    "dur", "s",    "bp",  "tts",  "scope", "id2", "cname", "sf",
};

// Whether text[at] is the "{" of a likely event.
bool is_event_start(std::string_view text, size_t at) {
  size_t key = skip_space(text, at + 1);
  if (key >= text.size() || text[key] != '"') return false;
  ++key;
  const std::string_view rest = text.substr(key, 8);
  const bool known = std::any_of(kFirstKeys.begin(), kFirstKeys.end(), [&](std::string_view name) {
    return rest.starts_with(name) && rest.size() > name.size() && rest[name.size()] == '"';
  });
  return known && end_of_event_before(text, at) != npos;
}

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

std::optional<uint32_t> parse_hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 4, value, 16);
  if (error != std::errc() || end != text.data() + 4) return std::nullopt;
  return value;
}

// Length of the valid UTF-8 sequence at `at`, 0 where there is none.
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const unsigned char first = byte(at);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(at + 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!follows(at + 1) || !follows(at + 2)) return 0;
    const uint32_t code = (first & 0x0Fu) << 12 | (byte(at + 1) & 0x3Fu) << 6;
    return code < 0x800 || (code >= 0xD800 && code < 0xE000) ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!follows(at + 1) || !follows(at + 2) || !follows(at + 3)) return 0;
    const uint32_t code = (first & 0x07u) << 18 | (byte(at + 1) & 0x3Fu) << 12;
    return code < 0x10000 || code > 0x10FFFF ? 0 : 4;
  }
  return 0;
}

}  // namespace

size_t skip_space(std::string_view text, size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

size_t find_string_end(std::string_view text, size_t at) {
  while (at < text.size()) {
    const void* quote = std::memchr(text.data() + at, '"', text.size() - at);
    if (quote == nullptr) return npos;
    const size_t end = static_cast<size_t>(static_cast<const char*>(quote) - text.data());
    size_t backslashes = 0;
    while (end - backslashes > at && text[end - backslashes - 1] == '\\') ++backslashes;
    if (backslashes % 2 == 0) return end;
    at = end + 1;
  }
  return npos;
}

size_t find_value_end(std::string_view text, size_t at) {
  if (at >= text.size()) return npos;
  size_t depth = 0;
  while (at < text.size()) {
    switch (text[at]) {
      case '"': {
        const size_t end = find_string_end(text, at + 1);
        if (end == npos) return npos;
        at = end + 1;
        if (depth == 0) return at;
        break;
      }
      case '{':
      case '[':
        ++depth;
        ++at;
        break;
      case '}':
      case ']':
        if (depth == 0) return at;  // the end of a bare word
        ++at;
        if (--depth == 0) return at;
        break;
      case ',':
        if (depth == 0) return at;
        ++at;
        break;
      default:
        if (depth == 0 && is_space(text[at])) return at;
        ++at;
    }
  }
  return npos;
}

size_t end_of_event_before(std::string_view text, size_t event_start) {
  size_t at = event_start;
  while (at > 0 && is_space(text[at - 1])) --at;
  if (at == 0 || text[at - 1] != ',') return npos;
  --at;
  while (at > 0 && is_space(text[at - 1])) --at;
  return at > 0 && text[at - 1] == '}' ? at : npos;
}

size_t find_event_start(std::string_view text, size_t from) {
  for (size_t at = text.find('{', from); at != npos; at = text.find('{', at + 1)) {
    if (is_event_start(text, at)) return at;
  }
  return npos;
}

size_t find_last_event_start(std::string_view text, size_t from) {
  for (size_t at = text.rfind('{'); at != npos && at >= from; at = text.rfind('{', at - 1)) {
    if (is_event_start(text, at)) return at;
    if (at == 0) break;
  }
  return npos;
}

std::optional<int64_t> parse_us_as_ns(std::string_view text) {
  text = unquoted(text);
  const std::string_view whole = text;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  uint64_t value = 0;
  size_t at = 0;
  // 15 digits of microseconds are 31 years, and leave room for the fraction; more goes the long
  // way.
  if (text.size() >= 8) {
    if (const auto eight = parse_8_digits(load_8_bytes(text.data()))) {
      value = *eight;
      at = 8;
    }
  }
  while (at < text.size() && at < 16 && text[at] >= '0' && text[at] <= '9') {
    value = value * 10 + static_cast<uint64_t>(text[at++] - '0');
  }
  value *= 1000;
  if (at < text.size() && text[at] == '.') {
    ++at;
    static constexpr uint64_t kScale[] = {100, 10, 1};
    for (size_t i = 0; i < 3 && at < text.size() && text[at] >= '0' && text[at] <= '9'; ++i) {
      value += kScale[i] * static_cast<uint64_t>(text[at++] - '0');
    }
    if (at < text.size() && text[at] >= '5' && text[at] <= '9') ++value;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  }
  if (at != text.size()) {
    const auto us = parse_double(whole);
    if (!us || !std::isfinite(*us)) return std::nullopt;
    const double limit = static_cast<double>(kMaxTimeNs);
    return static_cast<int64_t>(std::llround(std::clamp(*us * 1000.0, -limit, limit)));
  }
  const int64_t ns = static_cast<int64_t>(std::min<uint64_t>(value, kMaxTimeNs));
  return negative ? -ns : ns;
}

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const size_t first = text.starts_with('-') ? 1 : 0;
  if (text.size() > first && text.size() <= 18) {  // can not overflow
    for (size_t at = first; at < text.size(); ++at) {
      if (text[at] < '0' || text[at] > '9') return std::nullopt;
      value = value * 10 + (text[at] - '0');
    }
    return first == 1 ? -value : value;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> parse_id(std::string_view text) {
  uint64_t value = 0;
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (is_hex) text.remove_prefix(2);
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (size_t at = 0; at < raw.size(); ++at) {
    if (raw[at] != '\\' || at + 1 == raw.size()) {
      out += raw[at];
      continue;
    }
    const char kind = raw[++at];
    switch (kind) {
      case '"':
      case '\\':
      case '/':
        out += kind;
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        auto code = parse_hex4(raw.substr(at + 1));
        if (!code) {
          out += "\\u";
          break;
        }
        at += 4;
        if (*code >= 0xD800 && *code < 0xE000) {
          const bool is_pair = *code < 0xDC00 && raw.substr(at + 1).starts_with("\\u");
          const auto low = is_pair ? parse_hex4(raw.substr(at + 3)) : std::nullopt;
          if (low && *low >= 0xDC00 && *low < 0xE000) {
            code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
            at += 6;
          } else {
            code = 0xFFFD;  // half of a pair is no character
          }
        }
        append_utf8(out, *code);
        break;
      }
      default:
        out += '\\';
        out += kind;
    }
  }
  return out;
}

std::string mend_text(std::string_view text) {
  std::string out(text);
  bool in_string = false;
  for (size_t at = 0; at < out.size();) {
    const char c = out[at];
    if (in_string && c == '\\' && at + 1 < out.size() && (out[at + 1] == '"' || out[at + 1] == c)) {
      at += 2;
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (static_cast<unsigned char>(c) < 0x20 && (in_string || !is_space(c))) out[at] = ' ';
    const size_t length = utf8_length(out, at);
    if (length == 0) out[at] = '?';
    at += std::max<size_t>(length, 1);
  }
  return out;
}

}  // namespace stepscope
