#include "collect/sample/line_table.h"

#include <cstddef>

namespace stepscope::sample {
namespace {

using Table = std::span<const uint8_t>;

// 3.8, 3.9: steps of (bytes of code, lines); a step of code passes the instruction: it is found.
int64_t find_in_lnotab(Table table, int64_t line, int32_t instruction) {
  int64_t at = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    at += table[i];
    if (at > instruction) break;
    line += static_cast<int8_t>(table[i + 1]);
  }
  return line;
}

// 3.10: ranges of (bytes of code, lines from the range before); -128: no line.
int64_t find_in_ranges(Table table, int64_t line, int32_t instruction) {
  constexpr int8_t kNoLine = -128;
  int64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    end += table[i];
    const auto step = static_cast<int8_t>(table[i + 1]);
    if (step != kNoLine) line += step;
    if (end > instruction) return step == kNoLine ? 0 : line;
  }
  return line;
}

uint32_t read_varint(Table table, size_t at) {
  uint32_t value = 0;
  for (int shift = 0; at < table.size() && shift < 30; shift += 6) {
    const uint8_t byte = table[at++];
    value |= uint32_t{byte & 0x3fu} << shift;
    if ((byte & 0x40) == 0) break;
  }
  return value;
}

int32_t read_signed_varint(Table table, size_t at) {
  const uint32_t value = read_varint(table, at);
  const auto magnitude = static_cast<int32_t>(value >> 1);
  return (value & 1) != 0 ? -magnitude : magnitude;
}

// 3.11 on: an entry begins with a byte that has its top bit set: kind and length in units.
int64_t find_in_locations(Table table, int64_t line, int32_t instruction) {
  constexpr int kOneLine = 10, kNoColumns = 13, kLong = 14, kNoLine = 15;
  constexpr int64_t kBytesPerUnit = 2;
  int64_t end = 0;
  for (size_t at = 0; at < table.size();) {
    const int kind = table[at] >> 3 & 15;
    end += ((table[at] & 7) + 1) * kBytesPerUnit;
    if (kind == kNoColumns || kind == kLong) {
      line += read_signed_varint(table, at + 1);
    } else if (kind >= kOneLine && kind < kNoColumns) {
      line += kind - kOneLine;
    }
    if (end > instruction) return kind == kNoLine ? 0 : line;
    for (++at; at < table.size() && (table[at] & 0x80) == 0;) ++at;
  }
  return line;
}

}  // namespace

int32_t find_line(PythonVersion version, std::span<const uint8_t> table, int32_t first_line,
                  int32_t instruction) {
  if (instruction < 0) return first_line;
  int64_t line = 0;  // of a damaged table it may be any number
  if (version >= PythonVersion{3, 11}) {
    line = find_in_locations(table, first_line, instruction);
  } else if (version >= PythonVersion{3, 10}) {
    line = find_in_ranges(table, first_line, instruction);
  } else {
    line = find_in_lnotab(table, first_line, instruction);
  }
  return line >= 0 && line <= INT32_MAX ? static_cast<int32_t>(line) : 0;
}

}  // namespace stepscope::sample
