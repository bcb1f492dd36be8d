// Values as people read them: "177.6 ms", "1.21 GiB", "55.5%", "75,718". For the renderers that are
// made for eyes (text, Markdown) and for sentences; JSON, CSV, Arrow and SQL have the plain
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "analyze/table.h"

namespace stepscope {

std::string text_of_ns(int64_t ns);          // "831 ns", "1.204 us", "177.6 ms", "1 h 02 min"
std::string text_of_bytes(int64_t bytes);    // "512 B", "1.21 GiB", "-4.5 MiB"
std::string text_of_count(int64_t count);    // "75,718"
std::string text_of_fraction(double value);  // "55.5%", "<0.1%", "0%"
std::string text_of_double(double value);    // four significant digits

// A cell by its column's type and unit; not yet made safe for a terminal. "" where it is null.
std::string text_of_cell(const Column& column, size_t row);

// A column's heading in words: self_host_ns is "self host", busy_fraction is "busy %", fraction is
// "share".
std::string column_title(const Column& column);

}  // namespace stepscope
