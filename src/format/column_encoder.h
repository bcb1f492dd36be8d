// ColumnEncoder: values in, the bytes of one column out. The inverse of ColumnDecoder;
// docs/format.md, "Columns", draws the result.
//
// An integer column becomes residuals (value, or difference to the value before; minus the
// smallest, or zigzag), and these become planes: plane k holds byte k of every residual. Each plane
// is stored as one constant, as it is, or as a zstd frame of its own, so that noise in the low
// bytes costs neither ratio in the high bytes nor time on decoding. Which residual is taken is
// decided by the entropy of its planes over a sample of at most 2,048 values.
//
//   ColumnEncoder encoder(1);
//   ColumnEntry entry = encoder.encode(Column::kStart, ColumnType::kI64, values, payload);
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "format/column_layout.h"

namespace stepscope::format {

// Owns a zstd context and scratch memory, about 1 MB once used: keep one per writing thread.
class ColumnEncoder {
 public:
  explicit ColumnEncoder(int zstd_level = 1);
  ColumnEncoder(const ColumnEncoder&) = delete;
  ColumnEncoder& operator=(const ColumnEncoder&) = delete;
  ~ColumnEncoder();

  // Append the column's body to `out` and return its directory entry. T is one of uint8_t,
  // uint16_t, uint32_t, uint64_t, int64_t, double; at most kMaxRawBytes of them.
  template <typename T>
  ColumnEntry encode(uint16_t id, ColumnType type, std::span<const T> values,
                     std::vector<uint8_t>& out);

 private:
  void encode_residuals(size_t count, uint8_t width, std::vector<uint8_t>& out);
  void append_plane(std::span<const uint8_t> plane, uint8_t* descriptor, std::vector<uint8_t>& out);

  struct Zstd;  // keeps zstd.h out of this header
  std::unique_ptr<Zstd> zstd_;
  std::vector<uint64_t> residuals_;
  std::vector<int64_t> integers_;
  std::vector<uint8_t> plane_;
  std::vector<uint8_t> compressed_;
};

}  // namespace stepscope::format
