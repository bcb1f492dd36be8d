// Text that fits into columns of a terminal, for draw_top(). All of it is printable: control
// characters of names never come through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::cli {

// Exactly `width` columns: shortened in the middle, or filled up with spaces.
std::string fit_left(std::string_view text, size_t width);
std::string fit_right(std::string_view text, size_t width);

// "/src/data/loader.py:31" in at most `width` columns; folders give way first, from the left:
// "…/data/loader.py:31", "loader.py:31". Without the line where that is 0.
std::string fit_place(std::string_view file, int32_t line, size_t width);

// As many of the pieces as fit, with a gap between them; the first one always, shortened.
std::string fit_pieces(const std::vector<std::string>& pieces, size_t width);

// `left`, shortened at its end, and, where there is room for both, `right` at the end of `width`
// columns.
std::string fit_ends(std::string_view left, std::string_view right, size_t width);

// For terminals that know no UTF-8: "~" for "…", "?" for each other column. As wide as before.
std::string to_ascii(std::string_view text);

std::string percent_text(double fraction);  // "61.2%"
std::string span_text(int64_t ns);          // "2.0 s", "34 s", "12 min 05 s", "3 h 07 min"

}  // namespace stepscope::cli
