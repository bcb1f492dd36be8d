// NumberCursor: walks an argument whose values a file may have written as integers, as reals or as
// both ("blocks per SM": 50 in one kernel, 0.625 in the next).
//
//   NumberCursor occupancy(block, strings, "est. achieved occupancy %");
//   std::optional<double> value = occupancy.find(block.row(i));   // rows must not go backwards
#pragma once

#include <optional>
#include <string_view>

#include "trace/slice_stream.h"

namespace stepscope {

class NumberCursor {
 public:
  NumberCursor(const SliceBlock& block, const StringPool& strings, std::string_view key)
      : ints_(block, strings, key, ArgType::kInt),
        doubles_(block, strings, key, ArgType::kDouble) {}

  std::optional<double> find(SliceId row) {
    if (const auto at = doubles_.find(row)) return doubles_.column()->doubles[*at];
    if (const auto value = ints_.find_int(row)) return static_cast<double>(*value);
    return std::nullopt;
  }

 private:
  ArgCursor ints_;
  ArgCursor doubles_;
};

}  // namespace stepscope
