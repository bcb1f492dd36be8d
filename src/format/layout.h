// The fixed-size parts of a .sscope file: file header and block header.
// docs/format.md is normative; this header is the same in constants and pack/unpack functions.
//
//   file  = file header (32 bytes), block, block, ...
//   block = block header (48 bytes), payload (stored_bytes), zeros up to a multiple of 8
//
//   file header  0        8       10      12      16        24        28      32
//                | magic  | major | minor | flags | file_id | reserved| crc32c |
//
//   block header 0      4      6       8              12          16     20       24
//                | sync | type | flags | stored_bytes | raw_bytes | rows | stream |
//                24       32       40            44           48
//                | min_ns | max_ns | payload_crc | header_crc |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "format/schema.h"

namespace stepscope::format {

inline constexpr std::array<uint8_t, 8> kFileMagic = {0x89, 'S', 'S', 'C', 'O', 'P', 'E', '\n'};
inline constexpr uint16_t kVersionMajor = 1;
inline constexpr uint16_t kVersionMinor = 0;
inline constexpr size_t kFileHeaderBytes = 32;

inline constexpr std::array<uint8_t, 4> kBlockSync = {0xD5, 'S', 'B', 0xB2};
inline constexpr size_t kBlockHeaderBytes = 48;

// Limits that a reader checks before it allocates anything.
inline constexpr uint32_t kMaxStoredBytes = uint32_t{64} << 20;  // of one block, as in the file
inline constexpr uint32_t kMaxRawBytes = uint32_t{64} << 20;     // of one block, decoded
inline constexpr uint32_t kMaxRows = uint32_t{1} << 22;          // of one block
inline constexpr uint32_t kMaxColumns = 256;                     // of one block
// What writers aim at: planes of 64 KiB stay in the CPU's second-level cache while they are
// decoded.
inline constexpr uint32_t kRowsPerBlock = uint32_t{1} << 16;

inline constexpr uint32_t kNoStream = std::numeric_limits<uint32_t>::max();

// Bits of BlockHeader::flags.
inline constexpr uint16_t kHasTimeRange = 1;  // min_ns and max_ns hold a range
inline constexpr uint16_t kRangeIsTicks = 2;  // in ticks of the recording clock, not ns

struct FileHeader {
  uint16_t major = kVersionMajor;
  uint16_t minor = kVersionMinor;
  uint32_t flags = 0;
  uint64_t file_id = 0;  // ties a recording to its side file; 0 where there is none
};

struct BlockHeader {
  BlockType type{};
  uint16_t flags = 0;
  uint32_t stored_bytes = 0;  // of the payload, without the zeros after it
  uint32_t raw_bytes = 0;     // sum over the columns of values x bytes per value
  uint32_t rows = 0;
  uint32_t stream = kNoStream;
  int64_t min_ns = 0;
  int64_t max_ns = 0;
  uint32_t payload_crc = 0;

  bool has_time_range() const { return (flags & kHasTimeRange) != 0; }
  bool operator==(const BlockHeader&) const = default;
};

// From the start of a block to the start of the next.
constexpr uint64_t block_extent(uint32_t stored_bytes) {
  return kBlockHeaderBytes + ((uint64_t{stored_bytes} + 7) & ~uint64_t{7});
}

std::array<uint8_t, kFileHeaderBytes> pack(const FileHeader& header);
std::array<uint8_t, kBlockHeaderBytes> pack(const BlockHeader& header);

struct UnpackedFileHeader {
  FileHeader header;
  bool crc_matches = false;
};

// Nothing if the bytes do not start with the magic or are too few.
std::optional<UnpackedFileHeader> unpack_file_header(std::span<const uint8_t> bytes);

// Nothing if the sync marker, the limits or (when `verify_crc`) the header's CRC do not hold.
std::optional<BlockHeader> unpack_block_header(std::span<const uint8_t> bytes, bool verify_crc);

// Whether the bytes are the beginning of a .sscope file, for finding out a file's type by content.
bool looks_like_sscope(std::span<const uint8_t> bytes);

}  // namespace stepscope::format
