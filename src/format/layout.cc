#include "format/layout.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace stepscope::format {
namespace {

constexpr size_t kFileCrcOffset = 28;
constexpr size_t kBlockCrcOffset = 44;

}  // namespace

std::array<uint8_t, kFileHeaderBytes> pack(const FileHeader& header) {
  std::array<uint8_t, kFileHeaderBytes> bytes{};
  std::copy(kFileMagic.begin(), kFileMagic.end(), bytes.begin());
  store_le(bytes.data() + 8, header.major);
  store_le(bytes.data() + 10, header.minor);
  store_le(bytes.data() + 12, header.flags);
  store_le(bytes.data() + 16, header.file_id);
  store_le(bytes.data() + kFileCrcOffset, crc32c(std::span(bytes).first(kFileCrcOffset)));
  return bytes;
}

std::array<uint8_t, kBlockHeaderBytes> pack(const BlockHeader& header) {
  std::array<uint8_t, kBlockHeaderBytes> bytes{};
  std::copy(kBlockSync.begin(), kBlockSync.end(), bytes.begin());
  store_le(bytes.data() + 4, header.type);
  store_le(bytes.data() + 6, header.flags);
  store_le(bytes.data() + 8, header.stored_bytes);
  store_le(bytes.data() + 12, header.raw_bytes);
  store_le(bytes.data() + 16, header.rows);
  store_le(bytes.data() + 20, header.stream);
  store_le(bytes.data() + 24, header.min_ns);
  store_le(bytes.data() + 32, header.max_ns);
  store_le(bytes.data() + 40, header.payload_crc);
  store_le(bytes.data() + kBlockCrcOffset, crc32c(std::span(bytes).first(kBlockCrcOffset)));
  return bytes;
}

std::optional<UnpackedFileHeader> unpack_file_header(std::span<const uint8_t> bytes) {
  if (bytes.size() < kFileHeaderBytes || !looks_like_sscope(bytes)) return std::nullopt;
  UnpackedFileHeader result;
  result.header.major = load_le<uint16_t>(bytes.data() + 8);
  result.header.minor = load_le<uint16_t>(bytes.data() + 10);
  result.header.flags = load_le<uint32_t>(bytes.data() + 12);
  result.header.file_id = load_le<uint64_t>(bytes.data() + 16);
  result.crc_matches =
      load_le<uint32_t>(bytes.data() + kFileCrcOffset) == crc32c(bytes.first(kFileCrcOffset));
  return result;
}

std::optional<BlockHeader> unpack_block_header(std::span<const uint8_t> bytes, bool verify_crc) {
  if (bytes.size() < kBlockHeaderBytes ||
      !std::equal(kBlockSync.begin(), kBlockSync.end(), bytes.begin())) {
    return std::nullopt;
  }
  BlockHeader header;
  header.type = load_le<BlockType>(bytes.data() + 4);
  header.flags = load_le<uint16_t>(bytes.data() + 6);
  header.stored_bytes = load_le<uint32_t>(bytes.data() + 8);
  header.raw_bytes = load_le<uint32_t>(bytes.data() + 12);
  header.rows = load_le<uint32_t>(bytes.data() + 16);
  header.stream = load_le<uint32_t>(bytes.data() + 20);
  header.min_ns = load_le<int64_t>(bytes.data() + 24);
  header.max_ns = load_le<int64_t>(bytes.data() + 32);
  header.payload_crc = load_le<uint32_t>(bytes.data() + 40);
  if (header.stored_bytes > kMaxStoredBytes || header.raw_bytes > kMaxRawBytes ||
      header.rows > kMaxRows) {
    return std::nullopt;
  }
  if (verify_crc &&
      load_le<uint32_t>(bytes.data() + kBlockCrcOffset) != crc32c(bytes.first(kBlockCrcOffset))) {
    return std::nullopt;
  }
  return header;
}

bool looks_like_sscope(std::span<const uint8_t> bytes) {
  return bytes.size() >= kFileMagic.size() &&
         std::equal(kFileMagic.begin(), kFileMagic.end(), bytes.begin());
}

}  // namespace stepscope::format
