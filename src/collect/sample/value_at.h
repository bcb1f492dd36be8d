// value_at: one value out of bytes that were copied from another process, where it may lie
// unaligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace stepscope::sample {

template <typename T>
T value_at(const uint8_t* bytes, size_t offset = 0) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

template <typename T>
T value_at(std::span<const uint8_t> bytes, size_t offset) {
  return value_at<T>(bytes.data(), offset);
}

}  // namespace stepscope::sample
