// BlockWriter: writes a .sscope file block by block into a ByteSink. A block is collected in a
// BlockBuilder, encoded, checksummed and appended with one write, so that the file is whole after
// each one. When a write fails (disk full), what it left is cut off again and the error is
// returned: the file stays a valid prefix, and the same block may be tried again later.
//
//   auto sink = FileSink::create(path);
//   auto writer = BlockWriter::create(**sink);
//   BlockBuilder block(BlockType::kSlices, rows);
//   block.set_stream(track).set_time_range(starts.front(), last_end);
//   block.add_one<uint64_t>(Column::kFirstId, first_slice);
//   block.add<int64_t>(Column::kStart, starts).add<int64_t>(Column::kDur, durs);
//   block.add<uint32_t>(Column::kLabel, labels);
//   Status status = writer->write(block);
//   status = writer->finish();   // optional: index and trailer
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/byte_sink.h"
#include "base/status.h"
#include "format/column_encoder.h"
#include "format/layout.h"

namespace stepscope::format {

// The columns of one block, *borrowed*: the spans must live until write() has returned. Single
// values and texts are copied. Adding the same column twice is a CHECK failure.
class BlockBuilder {
 public:
  BlockBuilder(BlockType type, uint32_t rows);
  BlockBuilder(BlockBuilder&&) = default;
  BlockBuilder& operator=(BlockBuilder&&) = default;

  BlockBuilder& set_stream(uint32_t stream);
  BlockBuilder& set_time_range(int64_t min_ns, int64_t max_ns);
  BlockBuilder& set_tick_range(uint64_t first, uint64_t last);

  // T is one of uint8_t, uint16_t, uint32_t, uint64_t, int64_t, double. A column may hold any
  // number of values; by convention `rows` of them, or one.
  template <typename T>
  BlockBuilder& add(Column column, std::span<const T> values) {
    return add_bytes(static_cast<uint16_t>(column), column_type_of<T>(),
                     {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
  }
  template <typename T>
  BlockBuilder& add_one(Column column, T value) {
    return add_bytes(static_cast<uint16_t>(column), column_type_of<T>(),
                     keep({reinterpret_cast<const uint8_t*>(&value), sizeof(value)}));
  }
  BlockBuilder& add_text(Column column, std::span<const std::string_view> texts);
  // The same, for texts that lie one after the other in `bytes`.
  BlockBuilder& add_text(Column column, std::span<const uint32_t> lengths, std::string_view bytes);

  // What the block decodes to; write() refuses blocks above kMaxRawBytes.
  uint64_t raw_bytes() const { return raw_bytes_; }
  uint32_t rows() const { return header_.rows; }

 private:
  friend class BlockWriter;

  struct PendingColumn {
    uint16_t id;
    ColumnType type;
    std::span<const uint8_t> bytes;
  };

  BlockBuilder& add_bytes(uint16_t id, ColumnType type, std::span<const uint8_t> bytes);
  std::span<const uint8_t> keep(std::span<const uint8_t> bytes);

  BlockHeader header_;
  uint64_t raw_bytes_ = 0;
  std::vector<PendingColumn> columns_;
  std::vector<std::unique_ptr<uint8_t[]>> kept_;
};

struct WriterOptions {
  int zstd_level = 1;
  uint64_t file_id = 0;
  bool keeps_index = true;  // off for what never ends: the index takes memory for each block
};

// Borrows the sink. One owner thread at a time; no locks, no exceptions but std::bad_alloc.
class BlockWriter {
 public:
  // Writes the file header. The sink must be empty.
  static Result<BlockWriter> create(ByteSink& sink, WriterOptions options = {});

  BlockWriter(BlockWriter&&) = default;
  BlockWriter& operator=(BlockWriter&&) = default;

  Status write(const BlockBuilder& block);

  // Writes index and trailer. Blocks may still be written after it; then call it again.
  Status finish();

  uint64_t bytes_written() const { return offset_; }
  uint64_t blocks_written() const { return index_.size(); }

 private:
  struct Indexed {
    uint64_t offset;
    BlockHeader header;
    uint32_t header_crc;
  };

  BlockWriter(ByteSink& sink, WriterOptions options);
  Status append_whole(std::span<const uint8_t> bytes);

  ByteSink* sink_;
  uint64_t offset_ = 0;
  std::unique_ptr<ColumnEncoder> encoder_;
  std::vector<uint8_t> buffer_;
  std::vector<Indexed> index_;
  bool keeps_index_ = true;
  bool tail_is_dirty_ = false;  // a failed write could not be taken back yet
};

}  // namespace stepscope::format
