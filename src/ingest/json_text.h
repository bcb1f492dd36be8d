// Reading JSON as text, without trusting it: where a value ends, where the next event of a list may
// begin, numbers and escapes. The fast path (event_parser.h) finds values by their tokens and takes
// only the numbers from here; the rest serves the text around the events, and events in files that
// are cut or damaged. No recursion, no allocation per value: hostile nesting costs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

size_t skip_space(std::string_view text, size_t at);

// The position after the value that starts at `at` (an object, array, string or bare word), or npos
// where the text ends first. Brackets are matched and strings respected; nothing else is checked.
size_t find_value_end(std::string_view text, size_t at);

// The position of the closing quote of the string whose first character is at `at`, or npos.
size_t find_string_end(std::string_view text, size_t at);

// A place where an event of a list very likely begins: the "{" of a `}`, `,`, `{`, `"key"` sequence
// whose key is one that trace events start with. It may be wrong inside a string or a nested list,
// so whoever cuts there must check that what comes before is whole (see chunk_source.h). npos:
// none.
size_t find_event_start(std::string_view text, size_t from);
size_t find_last_event_start(std::string_view text, size_t from);
// For the "{" found: the position after the "}" before it.
size_t end_of_event_before(std::string_view text, size_t event_start);

// Decimal text of microseconds, exact to the nanosecond (a double is not: microseconds since 1970
// leave it two bits for the fraction). Quotes around it are accepted. nullopt: not a number.
std::optional<int64_t> parse_us_as_ns(std::string_view text);
std::optional<int64_t> parse_int(std::string_view text);    // decimal, whole text
std::optional<double> parse_double(std::string_view text);  // whole text
std::optional<uint64_t> parse_id(std::string_view text);    // decimal or 0x…

// The string that JSON text between two quotes stands for; bad escapes are kept as they are.
std::string unescape(std::string_view raw);

// Makes text that a strict parser can read: control characters in strings become spaces, bytes that
// are not UTF-8 become "?".
std::string mend_text(std::string_view text);

}  // namespace stepscope
