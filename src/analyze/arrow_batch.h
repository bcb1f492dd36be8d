// The pieces of an Arrow stream: schemas, arrays that own their buffers, and a stream made of a
// function that gives batch after batch. Internal to table_arrow.cc and slices_arrow.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/table_arrow.h"
#include "base/status.h"

namespace stepscope {

inline constexpr uint64_t kArrowBatchRows = 65'536;

struct ArrowField {
  std::string name;
  std::string format;  // "l" int64, "g" double, "u" utf8, "b" bool, …
  std::string unit;    // "" for none
  bool is_nullable = true;
  std::string dictionary_format;  // of the values, where `format` is the type of indices
};

// Values that arrays of several batches share, such as a dictionary. Freed with the last of them.
using ArrowBuffer = std::shared_ptr<const std::vector<uint8_t>>;

struct ArrowColumnData {
  int64_t length = 0;
  int64_t null_count = 0;
  std::vector<ArrowBuffer> buffers;  // a null pointer where there is none (no validity bitmap)
  std::shared_ptr<const ArrowColumnData> dictionary;
};

template <typename T>
ArrowBuffer make_arrow_buffer(const std::vector<T>& values) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  return std::make_shared<const std::vector<uint8_t>>(bytes, bytes + values.size() * sizeof(T));
}

// Builds a validity bitmap; gives none where every row is valid.
class ArrowValidity {
 public:
  explicit ArrowValidity(size_t rows) : bits_((rows + 7) / 8, 0) {}
  void push(bool is_valid) {
    if (is_valid) bits_[row_ / 8] = static_cast<uint8_t>(bits_[row_ / 8] | (1u << (row_ % 8)));
    null_count_ += is_valid ? 0 : 1;
    ++row_;
  }
  int64_t null_count() const { return null_count_; }
  ArrowBuffer finish() const { return null_count_ == 0 ? nullptr : make_arrow_buffer(bits_); }

 private:
  std::vector<uint8_t> bits_;
  size_t row_ = 0;
  int64_t null_count_ = 0;
};

// Builds utf8 values: 32-bit offsets and bytes, made valid.
class ArrowText {
 public:
  ArrowText() : offsets_{0} {}
  // False where the bytes would not fit into 32-bit offsets; the value is then not added.
  bool push(std::string_view text);
  size_t rows() const { return offsets_.size() - 1; }
  ArrowColumnData finish(ArrowBuffer validity, int64_t null_count) const;

 private:
  std::vector<int32_t> offsets_;
  std::string bytes_;
};

// What a stream reads. One thread at a time.
class ArrowSource {
 public:
  virtual ~ArrowSource() = default;
  virtual std::vector<ArrowField> fields() = 0;
  // The columns of the next batch, all of one length; none at the end.
  virtual Result<std::optional<std::vector<ArrowColumnData>>> next() = 0;
};

void make_arrow_stream(std::unique_ptr<ArrowSource> source, ArrowArrayStream* out);

}  // namespace stepscope
