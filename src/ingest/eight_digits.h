// Eight decimal digits at once, as the bytes of one word: no loop whose end a processor would have
// to guess.
//
//   parse_8_digits(load_8_bytes("20240131…"));   // 20240131
//   parse_8_digits(load_8_bytes("2024-131…"));   // nullopt
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

namespace stepscope {

static_assert(std::endian::native == std::endian::little, "the first digit is the lowest byte");

inline constexpr uint64_t kEightZeros = 0x3030303030303030;  // "00000000"

inline uint64_t load_8_bytes(const char* text) {
  uint64_t bytes;
  std::memcpy(&bytes, text, sizeof bytes);
  return bytes;
}

// Slow equivalent: value = value * 10 + digit, eight times. Here pairs of digits become numbers up
// to 99, then four of these are weighed and added by two multiplications.
inline std::optional<uint64_t> parse_8_digits(uint64_t bytes) {
  constexpr uint64_t kTopBits = 0x8080808080808080;
  constexpr uint64_t kAboveNine =
      0x4646464646464646;  // brings what is more than '9' to the top bit
  uint64_t digits = bytes - kEightZeros;
  if ((((bytes + kAboveNine) | digits) & kTopBits) != 0) return std::nullopt;
  digits = digits * 10 + (digits >> 8);
  constexpr uint64_t kPairs = 0x000000FF000000FF;
  constexpr uint64_t kWeights1 = 100 + (uint64_t{1'000'000} << 32);
  constexpr uint64_t kWeights2 = 1 + (uint64_t{10'000} << 32);
  return ((digits & kPairs) * kWeights1 + ((digits >> 16) & kPairs) * kWeights2) >> 32;
}

}  // namespace stepscope
