#include "format/block_writer.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"

namespace stepscope::format {
namespace {

// Decoded bytes of one row of an index block.
constexpr uint64_t kIndexRowBytes = 48;

void store_entry(uint8_t* to, const ColumnEntry& entry) {
  store_le(to, entry.id);
  store_le(to + 2, entry.type);
  store_le(to + 3, entry.encoding);
  store_le(to + 4, entry.width);
  store_le(to + 8, entry.values);
  store_le(to + 12, entry.body_bytes);
}

}  // namespace

BlockBuilder::BlockBuilder(BlockType type, uint32_t rows) {
  header_.type = type;
  header_.rows = rows;
}

BlockBuilder& BlockBuilder::set_stream(uint32_t stream) {
  header_.stream = stream;
  return *this;
}

BlockBuilder& BlockBuilder::set_time_range(int64_t min_ns, int64_t max_ns) {
  header_.flags = kHasTimeRange;
  header_.min_ns = min_ns;
  header_.max_ns = max_ns;
  return *this;
}

BlockBuilder& BlockBuilder::set_tick_range(uint64_t first, uint64_t last) {
  header_.flags = kHasTimeRange | kRangeIsTicks;
  header_.min_ns = static_cast<int64_t>(first);
  header_.max_ns = static_cast<int64_t>(last);
  return *this;
}

BlockBuilder& BlockBuilder::add_bytes(uint16_t id, ColumnType type,
                                      std::span<const uint8_t> bytes) {
  for (const PendingColumn& column : columns_) CHECK(column.id != id, "a column is added twice");
  columns_.push_back({id, type, bytes});
  raw_bytes_ += bytes.size();
  return *this;
}

std::span<const uint8_t> BlockBuilder::keep(std::span<const uint8_t> bytes) {
  kept_.push_back(std::make_unique<uint8_t[]>(bytes.size()));
  if (!bytes.empty()) std::memcpy(kept_.back().get(), bytes.data(), bytes.size());
  return {kept_.back().get(), bytes.size()};
}

BlockBuilder& BlockBuilder::add_text(Column column, std::span<const std::string_view> texts) {
  std::vector<uint32_t> lengths;
  std::string bytes;
  lengths.reserve(texts.size());
  for (const std::string_view text : texts) {
    lengths.push_back(static_cast<uint32_t>(text.size()));
    bytes += text;
  }
  const auto as_bytes = [](const auto& values) {
    return std::span(reinterpret_cast<const uint8_t*>(values.data()),
                     values.size() * sizeof(values[0]));
  };
  const auto id = static_cast<uint16_t>(column);
  add_bytes(id, ColumnType::kTextLengths, keep(as_bytes(lengths)));
  return add_bytes(id + kTextBytesOffset, ColumnType::kU8, keep(as_bytes(bytes)));
}

BlockBuilder& BlockBuilder::add_text(Column column, std::span<const uint32_t> lengths,
                                     std::string_view bytes) {
  const auto id = static_cast<uint16_t>(column);
  add_bytes(id, ColumnType::kTextLengths,
            {reinterpret_cast<const uint8_t*>(lengths.data()), lengths.size_bytes()});
  return add_bytes(id + kTextBytesOffset, ColumnType::kU8,
                   {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

BlockWriter::BlockWriter(ByteSink& sink, WriterOptions options)
    : sink_(&sink),
      encoder_(std::make_unique<ColumnEncoder>(options.zstd_level)),
      keeps_index_(options.keeps_index) {}

Result<BlockWriter> BlockWriter::create(ByteSink& sink, WriterOptions options) {
  if (sink.size() != 0) return Status::error("the file to write is not empty");
  BlockWriter writer(sink, options);
  FileHeader header;
  header.file_id = options.file_id;
  if (Status status = writer.append_whole(pack(header)); !status) return status;
  return writer;
}

Status BlockWriter::append_whole(std::span<const uint8_t> bytes) {
  if (tail_is_dirty_) {
    if (Status status = sink_->truncate(offset_); !status) return status;
    tail_is_dirty_ = false;
  }
  if (Status status = sink_->append(bytes); !status) {
    tail_is_dirty_ = !sink_->truncate(offset_).ok();
    return status;
  }
  offset_ += bytes.size();
  return {};
}

Status BlockWriter::write(const BlockBuilder& block) {
  if (block.raw_bytes() > kMaxRawBytes || block.rows() > kMaxRows ||
      block.columns_.size() > kMaxColumns) {
    return Status::error("a block of " + std::string(to_string(block.header_.type)) +
                         " is above the format's limits: write several smaller ones");
  }
  const size_t bodies = kDirectoryHeaderBytes + kColumnEntryBytes * block.columns_.size();
  buffer_.assign(kBlockHeaderBytes + bodies, 0);
  store_le(buffer_.data() + kBlockHeaderBytes, static_cast<uint32_t>(block.columns_.size()));
  size_t entry_at = kBlockHeaderBytes + kDirectoryHeaderBytes;
  for (const auto& column : block.columns_) {
    const ColumnEntry entry = encoder_->encode(column.id, column.type, column.bytes, buffer_);
    store_entry(buffer_.data() + entry_at, entry);
    entry_at += kColumnEntryBytes;
    buffer_.resize(align_to_8(buffer_.size()));
  }
  BlockHeader header = block.header_;
  header.raw_bytes = static_cast<uint32_t>(block.raw_bytes());
  header.stored_bytes = static_cast<uint32_t>(buffer_.size() - kBlockHeaderBytes);
  if (header.stored_bytes > kMaxStoredBytes) {
    return Status::error("a block of " + std::string(to_string(header.type)) +
                         " is above the format's limits: write several smaller ones");
  }
  header.payload_crc = crc32c(std::span<const uint8_t>(buffer_).subspan(kBlockHeaderBytes));
  const auto packed = pack(header);
  std::copy(packed.begin(), packed.end(), buffer_.begin());
  const uint64_t offset = offset_;
  if (Status status = append_whole(buffer_); !status) return status;
  if (!keeps_index_) return {};
  index_.push_back({offset, header, load_le<uint32_t>(packed.data() + kBlockHeaderBytes - 4)});
  return {};
}

Status BlockWriter::finish() {
  // An index above the limits of a block is left out: readers walk the headers then.
  if (!keeps_index_ || index_.size() > kMaxRows || index_.size() * kIndexRowBytes > kMaxRawBytes)
    return {};
  std::vector<uint64_t> offsets;
  std::vector<uint16_t> types, flags;
  std::vector<uint32_t> stored, raw, rows, streams, crcs;
  std::vector<int64_t> mins, maxs;
  for (const Indexed& block : index_) {
    offsets.push_back(block.offset);
    types.push_back(static_cast<uint16_t>(block.header.type));
    flags.push_back(block.header.flags);
    stored.push_back(block.header.stored_bytes);
    raw.push_back(block.header.raw_bytes);
    rows.push_back(block.header.rows);
    streams.push_back(block.header.stream);
    mins.push_back(block.header.min_ns);
    maxs.push_back(block.header.max_ns);
    crcs.push_back(block.header_crc);
  }
  const uint64_t index_offset = offset_;
  BlockBuilder index(BlockType::kIndex, static_cast<uint32_t>(index_.size()));
  index.add<uint64_t>(Column::kOffset, offsets)
      .add<uint16_t>(Column::kBlockType, types)
      .add<uint16_t>(Column::kBlockFlags, flags)
      .add<uint32_t>(Column::kStoredBytes, stored)
      .add<uint32_t>(Column::kRawBytes, raw)
      .add<uint32_t>(Column::kRows, rows)
      .add<uint32_t>(Column::kStream, streams)
      .add<int64_t>(Column::kMinNs, mins)
      .add<int64_t>(Column::kMaxNs, maxs)
      .add<uint32_t>(Column::kHeaderCrc, crcs);
  if (Status status = write(index); !status) return status;
  BlockBuilder trailer(BlockType::kTrailer, 1);
  trailer.add_one<uint64_t>(Column::kOffset, index_offset);
  return write(trailer);
}

}  // namespace stepscope::format
