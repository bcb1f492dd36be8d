// RowBudget: how many rows a file may make a reader hold. A column of equal values takes no bytes
// in a file, so that without a bound a few kilobytes could claim more memory than there is. No
// honest file comes near: the most regular columns take a byte per 300 rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/status.h"
#include "format/layout.h"

namespace stepscope {

class RowBudget {
 public:
  static constexpr uint64_t kRowsPerByte = 512;
  static constexpr uint64_t kRowsForAny = uint64_t{1} << 22;
  static constexpr uint64_t kBytesPerRow = 32;

  static RowBudget for_file_of(uint64_t bytes) {
    return RowBudget(kRowsForAny + kRowsPerByte * bytes);
  }
  explicit RowBudget(uint64_t rows) : left_(rows) {}

  // `weight`: how much more a row of this kind takes in memory than the columns of a slice.
  Status take(uint64_t rows, uint64_t weight = 1) {
    if (rows > left_ / weight) return Status::error("more rows than a file of this size can hold");
    left_ -= rows * weight;
    return {};
  }
  // For a block as a whole: by its rows, or by what it decodes to where that is more (texts).
  Status take(const format::BlockHeader& header, uint64_t weight = 1) {
    return take(std::max<uint64_t>(header.rows * weight, header.raw_bytes / kBytesPerRow));
  }
  uint64_t left() const { return left_; }

 private:
  uint64_t left_;
};

}  // namespace stepscope
