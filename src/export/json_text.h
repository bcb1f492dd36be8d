// JSON values as text, appended to a buffer: what the JSON exporters write with.
//
//   json::append_string(text, "a \"name\"");   // "a \"name\""
//   json::append_us(text, 1234567);                 // 1234.567
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope::json {

// With quotes. Control characters are escaped; bytes that are no UTF-8 become U+FFFD.
void append_string(std::string& to, std::string_view text);
void append_int(std::string& to, int64_t value);
void append_uint(std::string& to, uint64_t value);
// Nanoseconds as microseconds: exact, with as few decimals as it takes, at most three.
void append_us(std::string& to, int64_t ns);
// The shortest text that reads back as the same double, always with a point or an exponent, so that
// it stays a double; null for what JSON has no number for (NaN, infinity).
void append_double(std::string& to, double value);
// Whether `text` can stand as a value in a JSON file without breaking it: brackets match, strings
// end, no control characters. A check for text that comes from a file, not a full parser.
bool is_value(std::string_view text);

}  // namespace stepscope::json
