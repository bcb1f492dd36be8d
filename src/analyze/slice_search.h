// Slices by what the user typed. The query is
//   conv2d              in the name; cases do not matter
//   /conv[12]d/         a regular expression (RE2) in the name; cases do not matter
//   External id:17      an argument: a number that is equal, a text that holds it (or /…/); "key:"
//                       finds all that have it. Where no argument has that key it is a name.
//
//   Result<FoundSlices> found = search_slices(trace, "conv2d", 1000);
//   found->total, found->matches.front().start_ns
//
// Decided once per label or text, then one walk over a column: 10 M slices take some 10 ms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analyze/slice_details.h"
#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

struct FoundSlices {
  uint64_t total = 0;
  std::vector<SlicePlace> matches;  // the first `limit` by start, over all tracks
};

// Fails where the regular expression is none. An empty query finds nothing.
Result<FoundSlices> search_slices(const Trace& trace, std::string_view query, size_t limit);

}  // namespace stepscope
