#include "format/block_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "format/column_decoder.h"

namespace stepscope::format {
namespace {

Status bad_block(const BlockInfo& info, const std::string& why) {
  return Status::error("byte " + std::to_string(info.offset) + ": block of " +
                       std::string(to_string(info.header.type)) + ": " + why);
}

// 1234567 -> "1,234,567"
std::string with_commas(uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), 1, ',');
  }
  return digits;
}

std::string counted(uint64_t count, const char* one, const char* many) {
  return with_commas(count) + " " + (count == 1 ? one : many);
}

}  // namespace

const ColumnView* BlockView::find(uint16_t id) const {
  for (const ColumnView& column : columns_) {
    if (column.entry.id == id) return &column;
  }
  return nullptr;
}

Result<BlockView> parse_block(const BlockHeader& header, std::span<const uint8_t> payload) {
  BlockView block;
  block.header_ = header;
  ByteReader in(payload);
  const auto column_count = in.read<uint32_t>();
  in.read<uint32_t>();
  if (column_count > kMaxColumns) return Status::error("too many columns");
  ByteReader directory(in.take(uint64_t{column_count} * kColumnEntryBytes));
  if (in.failed()) return Status::error("cut short in its column directory");
  block.columns_.reserve(column_count);
  uint64_t raw_bytes = 0;
  for (uint32_t i = 0; i < column_count; ++i) {
    ColumnView column;
    column.entry.id = directory.read<uint16_t>();
    column.entry.type = directory.read<ColumnType>();
    column.entry.encoding = directory.read<uint8_t>();
    column.entry.width = directory.read<uint8_t>();
    directory.take(3);
    column.entry.values = directory.read<uint32_t>();
    column.entry.body_bytes = directory.read<uint32_t>();
    column.body = in.take(column.entry.body_bytes);
    in.take(std::min<uint64_t>(align_to_8(in.offset()) - in.offset(), in.remaining()));
    if (in.failed()) return Status::error("a column reaches past the end of the block");
    raw_bytes += uint64_t{column.entry.values} * bytes_per_value(column.entry.type);
    if (raw_bytes > header.raw_bytes) {
      return Status::error("its columns are larger than its header says");
    }
    // A type from a newer version: its size is not known, so nothing could bound what it decodes
    // to.
    if (bytes_per_value(column.entry.type) == 0) continue;
    block.columns_.push_back(column);
  }
  return block;
}

std::string to_string(const ReadReport& report) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (report.header_damaged) add("file header damaged");
  if (report.blocks_damaged > 0) {
    add(counted(report.blocks_damaged, "block", "blocks") + " damaged (" +
        counted(report.bytes_lost, "byte", "bytes") + " lost)");
  }
  if (report.torn_tail_bytes > 0) {
    add(counted(report.torn_tail_bytes, "byte", "bytes") + " of a torn last block");
  }
  if (report.unknown_blocks > 0) {
    add(counted(report.unknown_blocks, "block", "blocks") + " of unknown type skipped");
  }
  if (report.index == IndexState::kWrong) add("index wrong, not used");
  return text;
}

BlockReader::BlockReader(std::span<const uint8_t> file, ReaderOptions options)
    : file_(file), options_(options) {}

Result<BlockReader> BlockReader::open(std::span<const uint8_t> file, ReaderOptions options) {
  if (file.empty()) return Status::error("the file is empty");
  if (!looks_like_sscope(file)) return Status::error("not a .sscope file");
  const auto unpacked = unpack_file_header(file);
  if (!unpacked) return Status::error("cut short inside the file header");
  BlockReader reader(file, options);
  reader.walked_.header_damaged = !unpacked->crc_matches && options.verify_checksums;
  // A damaged header's version means nothing; the blocks have checksums of their own.
  if (!reader.walked_.header_damaged) reader.file_header_ = unpacked->header;
  if (reader.file_header_.major > kVersionMajor) {
    return Status::error("written in format version " + std::to_string(reader.file_header_.major) +
                         "; this Stepscope reads up to " + std::to_string(kVersionMajor) +
                         ": update it");
  }
  reader.walk();
  reader.walked_.index = reader.check_index();
  return reader;
}

void BlockReader::walk() {
  uint64_t at = kFileHeaderBytes;
  while (at < file_.size()) {
    const uint64_t remaining = file_.size() - at;
    const auto header =
        unpack_block_header(file_.subspan(static_cast<size_t>(at)), options_.verify_checksums);
    if (!header) {
      const uint64_t next = find_next_block(at + 1);
      if (next == file_.size()) {
        walked_.torn_tail_bytes = remaining;
        break;
      }
      ++walked_.blocks_damaged;
      walked_.bytes_lost += next - at;
      at = next;
      continue;
    }
    if (header->stored_bytes > remaining - kBlockHeaderBytes) {
      walked_.torn_tail_bytes = remaining;
      break;
    }
    blocks_.push_back({at, *header, static_cast<uint32_t>(blocks_.size())});
    if (!is_known(header->type)) ++walked_.unknown_blocks;
    // The zeros that fill up the last block may be cut off: nothing is lost then.
    at += std::min(block_extent(header->stored_bytes), remaining);
  }
  walked_.blocks_read = blocks_.size();
  damaged_.assign(blocks_.size(), 0);
}

// The offset of the next sync marker with a sound header behind it; the file's size where there is
// none.
uint64_t BlockReader::find_next_block(uint64_t from) const {
  while (from < file_.size()) {
    const void* found = ::memmem(file_.data() + from, static_cast<size_t>(file_.size() - from),
                                 kBlockSync.data(), kBlockSync.size());
    if (found == nullptr) break;
    const auto at = static_cast<uint64_t>(static_cast<const uint8_t*>(found) - file_.data());
    if (unpack_block_header(file_.subspan(static_cast<size_t>(at)), options_.verify_checksums)) {
      return at;
    }
    from = at + 1;
  }
  return file_.size();
}

Result<BlockView> BlockReader::read(const BlockInfo& info) const {
  CHECK(info.number < blocks_.size() && blocks_[info.number].offset == info.offset,
        "a BlockInfo of another reader");
  const auto payload =
      file_.subspan(static_cast<size_t>(info.offset + kBlockHeaderBytes), info.header.stored_bytes);
  if (options_.verify_checksums && crc32c(payload) != info.header.payload_crc) {
    count_damaged(info);
    return bad_block(info, "checksum does not match; block skipped");
  }
  auto block = parse_block(info.header, payload);
  if (!block) {
    count_damaged(info);
    return bad_block(info, block.status().message());
  }
  return block;
}

void BlockReader::count_damaged(const BlockInfo& info) const {
  std::atomic_ref<uint8_t>(damaged_[info.number]).store(1, std::memory_order_relaxed);
}

void BlockReader::verify_all() const {
  for (const BlockInfo& info : blocks_) (void)read(info);
}

ReadReport BlockReader::report() const {
  ReadReport report = walked_;
  for (const BlockInfo& info : blocks_) {
    if (std::atomic_ref<uint8_t>(damaged_[info.number]).load(std::memory_order_relaxed) == 0) {
      continue;
    }
    --report.blocks_read;
    ++report.blocks_damaged;
    report.bytes_lost +=
        std::min<uint64_t>(block_extent(info.header.stored_bytes), file_.size() - info.offset);
  }
  return report;
}

// The walked headers are the truth; the index is compared with them and with nothing else, so that
// a wrong one cannot lead anywhere.
IndexState BlockReader::check_index() const {
  if (blocks_.size() < 2 || blocks_.back().header.type != BlockType::kTrailer) {
    return IndexState::kAbsent;
  }
  const size_t indexed = blocks_.size() - 2;
  const BlockInfo& index_info = blocks_[indexed];
  if (index_info.header.type != BlockType::kIndex) return IndexState::kWrong;
  const auto trailer = read(blocks_.back());
  const auto index = read(index_info);
  if (!trailer || !index || index->rows() != indexed) return IndexState::kWrong;

  ColumnDecoder decoder;
  const auto index_offset = decoder.decode_one<uint64_t>(*trailer, Column::kOffset);
  if (!index_offset || *index_offset != index_info.offset) return IndexState::kWrong;
  const auto agrees = [&]<typename T>(Column column, auto&& get) {
    std::vector<T> values;
    if (!decoder.decode_rows(*index, column, values)) return false;
    for (size_t i = 0; i < indexed; ++i) {
      if (values[i] != static_cast<T>(get(blocks_[i]))) return false;
    }
    return true;
  };
  const bool sound = agrees.template operator()<uint64_t>(Column::kOffset, [](const BlockInfo& b) {
    return b.offset;
  }) && agrees.template operator()<uint16_t>(Column::kBlockType, [](const BlockInfo& b) {
    return b.header.type;
  }) && agrees.template operator()<uint16_t>(Column::kBlockFlags, [](const BlockInfo& b) {
    return b.header.flags;
  }) && agrees.template operator()<uint32_t>(Column::kStoredBytes, [](const BlockInfo& b) {
    return b.header.stored_bytes;
  }) && agrees.template operator()<uint32_t>(Column::kRawBytes, [](const BlockInfo& b) {
    return b.header.raw_bytes;
  }) && agrees.template operator()<uint32_t>(Column::kRows, [](const BlockInfo& b) {
    return b.header.rows;
  }) && agrees.template operator()<uint32_t>(Column::kStream, [](const BlockInfo& b) {
    return b.header.stream;
  }) && agrees.template operator()<int64_t>(Column::kMinNs, [](const BlockInfo& b) {
    return b.header.min_ns;
  }) && agrees.template operator()<int64_t>(Column::kMaxNs, [](const BlockInfo& b) {
    return b.header.max_ns;
  });
  return sound ? IndexState::kSound : IndexState::kWrong;
}

}  // namespace stepscope::format
