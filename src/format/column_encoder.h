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
//   ColumnEntry entry = encoder.encode(id, ColumnType::kI64, bytes_of(values), payload);
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "format/column_layout.h"

namespace stepscope::format {

template <typename Word>
struct Transform;

// Owns a zstd context and scratch memory, about 1 MB once used: keep one per writing thread.
class ColumnEncoder {
 public:
  explicit ColumnEncoder(int zstd_level = 1);
  ColumnEncoder(const ColumnEncoder&) = delete;
  ColumnEncoder& operator=(const ColumnEncoder&) = delete;
  ~ColumnEncoder();

  // Appends the column's body to `out` and returns its directory entry. `values` are the elements
  // in memory, of the type that `type` names, in any alignment; at most kMaxRawBytes of them.
  ColumnEntry encode(uint16_t id, ColumnType type, std::span<const uint8_t> values,
                     std::vector<uint8_t>& out);

 private:
  template <typename T, typename Word>
  static void widen(std::span<const uint8_t> values, std::vector<Word>& words);
  void encode_doubles(ColumnEntry& entry, std::vector<uint8_t>& out);
  template <typename Word>
  void encode_words(std::span<const Word> words, const Transform<Word>& transform,
                    std::vector<Word>& residuals, ColumnEntry& entry, std::vector<uint8_t>& out);
  template <typename Word>
  void encode_planes(std::span<const Word> residuals, uint8_t width, std::vector<uint8_t>& out);
  void append_plane(std::span<const uint8_t> plane, uint8_t* descriptor, std::vector<uint8_t>& out);

  struct Zstd;  // keeps zstd.h out of this header
  std::unique_ptr<Zstd> zstd_;
  std::vector<uint32_t> words32_, residuals32_;
  std::vector<uint64_t> words64_, residuals64_;
  std::vector<uint8_t> plane_;
  std::vector<uint8_t> compressed_;
};

}  // namespace stepscope::format
