// How a column lies in a block's payload: the directory entry, the encodings, the plane descriptor.
//
//   payload = column_count u32, reserved u32, entry x column_count, body, body, ...   (bodies
//   8-aligned)
//
//   entry (16 bytes)   0    2      3          4       5          8        12           16
//                      | id | type | encoding | width | reserved | values | body_bytes |
//
//   body = first i64 (kDelta only), base u64 (not kZigzag), descriptor x width, plane bytes
//
//   descriptor (8)     0      1          2          4              8
//                      | mode | constant | reserved | stored_bytes |
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "format/schema.h"

namespace stepscope::format {

inline constexpr size_t kDirectoryHeaderBytes = 8;
inline constexpr size_t kColumnEntryBytes = 16;
inline constexpr size_t kPlaneDescriptorBytes = 8;
inline constexpr uint8_t kMaxPlanes = 8;

// Bits of ColumnEntry::encoding.
inline constexpr uint8_t kDelta = 1;     // a residual is the difference to the value before
inline constexpr uint8_t kZigzag = 2;    // residual r stands for (r >> 1) ^ -(r & 1); no base
inline constexpr uint8_t kIntegral = 4;  // f64 only: the integers are values, not bit patterns
inline constexpr uint8_t kKnownEncodingBits = kDelta | kZigzag | kIntegral;

enum class PlaneMode : uint8_t { kConstant = 0, kRaw = 1, kZstd = 2 };

struct ColumnEntry {
  uint16_t id = 0;
  ColumnType type{};
  uint8_t encoding = 0;
  uint8_t width = 0;  // planes; 0: all residuals are zero
  uint32_t values = 0;
  uint32_t body_bytes = 0;
};

// The difference of two values may need one bit more than the values themselves.
constexpr uint32_t max_planes(ColumnType type) {
  return bytes_per_value(type) < kMaxPlanes ? bytes_per_value(type) + 1 : kMaxPlanes;
}

// An element of a column: uint8_t, uint16_t, uint32_t, uint64_t, int32_t, int64_t, double, or an
// enum (an id type) over one of them.
template <typename T>
struct StoredTypeOf {
  using Type = T;
};
template <typename T>
  requires std::is_enum_v<T>
struct StoredTypeOf<T> {
  using Type = std::underlying_type_t<T>;
};
template <typename T>
using StoredType = typename StoredTypeOf<T>::Type;

template <typename T>
constexpr ColumnType column_type_of() {
  using Stored = StoredType<T>;
  if constexpr (std::is_same_v<Stored, uint8_t>) return ColumnType::kU8;
  if constexpr (std::is_same_v<Stored, uint16_t>) return ColumnType::kU16;
  if constexpr (std::is_same_v<Stored, uint32_t>) return ColumnType::kU32;
  if constexpr (std::is_same_v<Stored, uint64_t>) return ColumnType::kU64;
  if constexpr (std::is_same_v<Stored, int32_t>) return ColumnType::kI32;
  if constexpr (std::is_same_v<Stored, int64_t>) return ColumnType::kI64;
  if constexpr (std::is_same_v<Stored, double>) return ColumnType::kF64;
}

}  // namespace stepscope::format
