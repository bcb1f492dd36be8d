// BlockReader: finds the blocks of a .sscope file in memory, whatever state the file is in, and
// hands out their columns. Opening walks the block headers only; payloads are checked and parsed by
// read(), which may be called from several threads at once.
//
//   auto reader = BlockReader::open(file.bytes());
//   ColumnDecoder decoder;                              // one per thread
//   for (const BlockInfo& info : reader->blocks()) {
//     if (info.header.type != BlockType::kSlices) continue;
//     auto block = reader->read(info);
//     if (!block) continue;                             // damaged: counted in reader->report()
//     std::vector<int64_t> starts;
//     if (Status s = decoder.decode_rows(*block, Column::kStart, starts); !s) ...
//   }
//
// A block whose header is sound but whose payload is not is skipped by its length. Where a header
// is not sound, the reader looks for the next sync marker with a sound header behind it. Bytes
// after the last whole block are the torn tail: a file that is being written, or was cut.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "format/column_layout.h"
#include "format/layout.h"

namespace stepscope::format {

struct BlockInfo {
  uint64_t offset = 0;  // of the block header in the file
  BlockHeader header;
  uint32_t number = 0;  // position in BlockReader::blocks()
};

// One column of a block, not decoded yet. Borrows the file's bytes.
struct ColumnView {
  ColumnEntry entry;
  std::span<const uint8_t> body;

  uint32_t values() const { return entry.values; }
  ColumnType type() const { return entry.type; }
};

// The parsed directory of one block. Borrows the file's bytes.
class BlockView {
 public:
  const BlockHeader& header() const { return header_; }
  uint32_t rows() const { return header_.rows; }
  std::span<const ColumnView> columns() const { return columns_; }
  // Null where the block has no such column.
  const ColumnView* find(Column column) const { return find(static_cast<uint16_t>(column)); }
  const ColumnView* find(uint16_t id) const;
  bool has(Column column) const { return find(column) != nullptr; }

 private:
  friend Result<BlockView> parse_block(const BlockHeader& header, std::span<const uint8_t> payload);
  BlockHeader header_;
  std::vector<ColumnView> columns_;
};

// Checks the column directory against the payload and the limits. Allocates the directory only.
Result<BlockView> parse_block(const BlockHeader& header, std::span<const uint8_t> payload);

enum class IndexState : uint8_t { kAbsent, kSound, kWrong };

struct ReadReport {
  uint64_t blocks_read = 0;      // whole by their headers, minus those damaged
  uint64_t blocks_damaged = 0;   // stretches that are no blocks, and payloads that read() refused
  uint64_t bytes_lost = 0;       // in damaged blocks
  uint64_t torn_tail_bytes = 0;  // after the last whole block
  uint64_t unknown_blocks = 0;   // of a type that this version does not know; skipped
  bool header_damaged = false;   // the file header's checksum is wrong
  IndexState index = IndexState::kAbsent;

  bool is_clean() const {
    return blocks_damaged == 0 && torn_tail_bytes == 0 && !header_damaged &&
           index != IndexState::kWrong;
  }
};

// "3 blocks damaged (1,234 bytes lost); 56 bytes of a torn last block"; empty for a clean file.
std::string to_string(const ReadReport& report);

struct ReaderOptions {
  bool verify_checksums = true;  // off only in the fuzzer, which cannot guess a CRC
};

// Borrows the bytes. All const functions may be called from several threads.
class BlockReader {
 public:
  // Fails only if this is no .sscope file, is cut inside its file header, or is of a newer major
  // version.
  static Result<BlockReader> open(std::span<const uint8_t> file, ReaderOptions options = {});

  const FileHeader& file_header() const { return file_header_; }

  // All blocks in file order, those of unknown type and index and trailer included.
  std::span<const BlockInfo> blocks() const { return blocks_; }

  // Checks the payload's CRC and parses the directory. Fails, and counts the block as damaged once,
  // when either does not hold. `info` must come from blocks().
  Result<BlockView> read(const BlockInfo& info) const;

  // Counts the block as damaged once: for a caller whose decoding of a column of it failed.
  void count_damaged(const BlockInfo& info) const;

  // Reads every payload, so that report() covers the whole file.
  void verify_all() const;

  // What is known so far; payloads count as sound until read.
  ReadReport report() const;

 private:
  BlockReader(std::span<const uint8_t> file, ReaderOptions options);
  void walk();
  uint64_t find_next_block(uint64_t from) const;
  IndexState check_index() const;

  std::span<const uint8_t> file_;
  ReaderOptions options_;
  FileHeader file_header_;
  std::vector<BlockInfo> blocks_;
  ReadReport walked_;
  // One byte per block, set through atomic_ref: 1 once read() or count_damaged() found it damaged.
  mutable std::vector<uint8_t> damaged_;
};

}  // namespace stepscope::format
