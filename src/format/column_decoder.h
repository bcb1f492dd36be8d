// ColumnDecoder: decodes the columns of a BlockView into the caller's memory. The inverse of
// ColumnEncoder. Nothing in a column is trusted: every length is checked before it is used, and
// memory is bounded by the block's raw_bytes (at most 64 MiB).
//
//   ColumnDecoder decoder;
//   std::vector<int64_t> starts;
//   if (Status s = decoder.decode_rows(block, Column::kStart, starts); !s) return s;
//   auto first_id = decoder.decode_one<uint64_t>(block, Column::kFirstId);
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "format/block_reader.h"

namespace stepscope::format {

// Texts of a text column: text i is bytes[offsets[i], offsets[i + 1]).
struct TextColumn {
  std::vector<uint32_t> offsets;  // one more than there are texts
  std::vector<char> bytes;

  size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  std::string_view operator[](size_t i) const {
    return {bytes.data() + offsets[i], offsets[i + 1] - offsets[i]};
  }
};

// Owns a zstd context and scratch memory: keep one per reading thread. In all functions T is as in
// StoredTypeOf and must be the column's own type.
class ColumnDecoder {
 public:
  ColumnDecoder();
  ColumnDecoder(const ColumnDecoder&) = delete;
  ColumnDecoder& operator=(const ColumnDecoder&) = delete;
  ~ColumnDecoder();

  // `out` must have column.values() elements.
  template <typename T>
  Status decode(const ColumnView& column, std::span<T> out) {
    if constexpr (std::is_enum_v<T>) {
      // decode_plain is compiled elsewhere, so nothing here can be reordered around its stores.
      return decode_plain(column,
                          std::span(reinterpret_cast<StoredType<T>*>(out.data()), out.size()));
    } else {
      return decode_plain(column, out);
    }
  }

  // The column with one value per row; an error where it is missing or has another number of
  // values.
  template <typename T>
  Status decode_rows(const BlockView& block, Column column, std::vector<T>& out) {
    if (Status status = check_rows(block, column); !status) return status;
    out.resize(block.rows());
    return decode(*block.find(column), std::span<T>(out));
  }

  // The same, but a missing column is `fallback` in every row.
  template <typename T>
  Status decode_rows_or(const BlockView& block, Column column, T fallback, std::vector<T>& out) {
    if (block.has(column)) return decode_rows(block, column, out);
    out.assign(block.rows(), fallback);
    return {};
  }

  // The same as decode_rows, behind what `out` holds already; on an error `out` is as before.
  template <typename T>
  Status append_rows(const BlockView& block, Column column, std::vector<T>& out) {
    if (Status status = check_rows(block, column); !status) return status;
    const size_t before = out.size();
    out.resize(before + block.rows());
    Status status = decode(*block.find(column), std::span<T>(out).subspan(before));
    if (!status) out.resize(before);
    return status;
  }

  // The column with any number of values; none where it is missing.
  template <typename T>
  Status decode_all(const BlockView& block, Column column, std::vector<T>& out) {
    const ColumnView* view = block.find(column);
    out.resize(view == nullptr ? 0 : view->values());
    return view == nullptr ? Status() : decode(*view, std::span<T>(out));
  }

  // The column with exactly one value.
  template <typename T>
  Result<T> decode_one(const BlockView& block, Column column) {
    if (Status status = check_one(block, column); !status) return status;
    T value{};
    if (Status status = decode(*block.find(column), std::span<T>(&value, 1)); !status)
      return status;
    return value;
  }

  Status decode_text(const BlockView& block, Column column, TextColumn& out);

 private:
  template <typename T>
  Status decode_plain(const ColumnView& column, std::span<T> out);
  Status check_rows(const BlockView& block, Column column) const;
  Status check_one(const BlockView& block, Column column) const;
  // Points planes[k] at plane k of the column, decompressed into scratch_ where needed.
  Status load_planes(const ColumnView& column, size_t params_bytes, const uint8_t** planes);

  struct Zstd;  // keeps zstd.h out of this header
  std::unique_ptr<Zstd> zstd_;
  std::vector<uint8_t> scratch_;
  std::vector<uint64_t> wide_;
};

}  // namespace stepscope::format
