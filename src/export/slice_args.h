// SliceArgs: the arguments of slice after slice, in order of rows, from columns that lie side by
// side.
//
//   SliceArgs args(trace);
//   for (uint32_t row = 0; row < slices.size(); ++row)
//     args.take(SliceId{row}, [&](const ArgColumn& column, size_t at) { … });
//
// A heap of the columns' next rows: O(log columns) per argument, however many columns there are.
// Slow equivalent: for each row, ask every column with ArgColumn::find.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

class SliceArgs {
 public:
  explicit SliceArgs(const Trace& trace) : columns_(trace.args()), next_(columns_.size()) {
    for (uint32_t column = 0; column < columns_.size(); ++column) push(column);
  }

  // Calls use(column, position) for each argument of the row. Rows must go upwards; rows that are
  // left out are skipped.
  template <typename Use>
  void take(SliceId row, Use&& use) {
    while (!heap_.empty() && heap_.top() >> 32 <= index(row)) {
      const auto column = static_cast<uint32_t>(heap_.top());
      const bool is_here = heap_.top() >> 32 == index(row);
      heap_.pop();
      if (is_here) use(columns_[column], next_[column]);
      ++next_[column];
      push(column);
    }
  }

 private:
  void push(uint32_t column) {
    if (next_[column] >= columns_[column].rows.size()) return;
    heap_.push(uint64_t{index(columns_[column].rows[next_[column]])} << 32 | column);
  }

  std::span<const ArgColumn> columns_;
  std::vector<size_t> next_;                                                   // by column
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> heap_;  // row, column
};

}  // namespace stepscope
