// IntArgs: the values of an integer argument, for rows of the whole trace that are asked for in
// ascending order. O(1) a step. (ArgCursor does so for the rows of one block.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/trace.h"

namespace stepscope {

class IntArgs {
 public:
  IntArgs(const Trace& trace, std::string_view key, uint32_t first_row = 0)
      : column_(trace.find_args(key, ArgType::kInt)) {
    if (column_ == nullptr) return;
    at_ = static_cast<size_t>(
        std::lower_bound(column_->rows.begin(), column_->rows.end(), SliceId{first_row}) -
        column_->rows.begin());
  }
  std::optional<int64_t> find(uint32_t row) {
    if (column_ == nullptr) return std::nullopt;
    while (at_ < column_->rows.size() && index(column_->rows[at_]) < row) ++at_;
    if (at_ == column_->rows.size() || index(column_->rows[at_]) != row) return std::nullopt;
    return column_->ints[at_];
  }

 private:
  const ArgColumn* column_;
  size_t at_ = 0;
};

}  // namespace stepscope
