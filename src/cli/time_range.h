// `--range A..B`: the part of a trace between two times, counted from its begin.
//
//   parse_range("1.5s..2s");   // 1,500,000,000 .. 2,000,000,000 ns
//   parse_range("120ms..");    // to the end
//   parse_range("120..300");   // error: needs a unit
#pragma once

#include <string>
#include <string_view>

#include "analyze/table.h"
#include "base/status.h"

namespace stepscope::cli {

// Either side may be missing, not both. Units are ns, us, ms, s and m; only 0 goes without one.
Result<TimeRange> parse_range(std::string_view text);

}  // namespace stepscope::cli
