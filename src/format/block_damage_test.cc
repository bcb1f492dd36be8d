// BlockReader on files that are cut, damaged or hostile, and BlockWriter on a disk that is full.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "format/block_reader.h"
#include "format/block_writer.h"
#include "format/column_decoder.h"
#include "format/small_file_for_tests.h"

namespace stepscope::format {
namespace {

uint64_t payload_end(const BlockInfo& info) {
  return info.offset + kBlockHeaderBytes + info.header.stored_bytes;
}

// A file of about 250 kB: blocks of 2,000 slices.
std::vector<uint8_t> make_larger_file() {
  MemorySink sink;
  auto writer = BlockWriter::create(sink);
  std::mt19937_64 random(5);
  int64_t now_ns = 0;
  for (uint32_t block = 0; block < 25; ++block) {
    std::vector<int64_t> starts;
    std::vector<uint32_t> durs;
    for (int i = 0; i < 2000; ++i) {
      starts.push_back(now_ns += static_cast<int64_t>(random() % 100000));
      durs.push_back(static_cast<uint32_t>(random() % 60000));
    }
    CHECK(writer
              ->write(BlockBuilder(BlockType::kSlices, 2000)
                          .set_stream(block)
                          .add<int64_t>(Column::kStart, starts)
                          .add<uint32_t>(Column::kDur, durs))
              .ok(),
          "memory takes every block");
  }
  CHECK(writer->finish().ok(), "memory takes an index");
  return sink.bytes();
}

// Every block before the cut is there and sound, and what lies after the last one is told.
void expect_prefix(std::span<const uint8_t> whole, size_t cut) {
  const auto all = BlockReader::open(whole);
  ASSERT_TRUE(all);
  const auto reader = BlockReader::open(whole.first(cut));
  ASSERT_EQ(reader.ok(), cut >= kFileHeaderBytes) << cut;
  if (!reader.ok()) {
    EXPECT_FALSE(reader.status().message().empty());
    return;
  }
  uint64_t expected_blocks = 0;
  uint64_t used = kFileHeaderBytes;
  for (const BlockInfo& info : all->blocks()) {
    if (payload_end(info) > cut) break;
    ++expected_blocks;
    used = std::min<uint64_t>(cut, info.offset + block_extent(info.header.stored_bytes));
  }
  reader->verify_all();
  const ReadReport report = reader->report();
  EXPECT_EQ(report.blocks_read, expected_blocks) << cut;
  EXPECT_EQ(report.blocks_damaged, 0U) << cut;
  EXPECT_EQ(report.torn_tail_bytes, cut - used) << cut;
  EXPECT_EQ(report.torn_tail_bytes > 0, !report.is_clean()) << cut;
}

TEST(BlockDamage, CutAtEveryByteGivesEveryBlockBeforeTheCutAndSaysWhatIsLost) {
  const auto file = make_small_file(true);
  for (size_t cut = 0; cut <= file.size(); ++cut) expect_prefix(file, cut);
}

TEST(BlockDamage, CutAtEveryThousandthByteOfALargerFileGivesEveryBlockBeforeTheCut) {
  const auto file = make_larger_file();
  ASSERT_GT(file.size(), 200'000U);
  for (size_t cut = 0; cut <= file.size(); cut += 1000) expect_prefix(file, cut);
}

TEST(BlockDamage, ChangedByteLosesItsOwnBlockOnly) {
  const auto file = make_small_file(false);
  const auto original = BlockReader::open(file);
  ASSERT_TRUE(original);
  for (size_t at = kFileHeaderBytes; at < file.size(); ++at) {
    auto changed = file;
    changed[at] ^= 0x10;
    const auto reader = BlockReader::open(changed);
    ASSERT_TRUE(reader);
    reader->verify_all();
    const ReadReport report = reader->report();
    const auto blocks = original->blocks();
    const auto hit = std::find_if(blocks.begin(), blocks.end(), [&](const BlockInfo& info) {
      return at >= info.offset && at < info.offset + block_extent(info.header.stored_bytes);
    });
    ASSERT_NE(hit, blocks.end());
    if (at >= payload_end(*hit)) {  // in the zeros after the payload
      EXPECT_TRUE(report.is_clean()) << at;
      continue;
    }
    EXPECT_EQ(report.blocks_read, kSmallFileBlocks - 1) << at;
    EXPECT_EQ(report.bytes_lost + report.torn_tail_bytes, block_extent(hit->header.stored_bytes))
        << at;
    EXPECT_FALSE(to_string(report).empty());
  }
}

TEST(BlockDamage, ChangedFileHeaderIsToldAndAllBlocksAreRead) {
  auto file = make_small_file(false);
  for (size_t at = 8; at < kFileHeaderBytes; ++at) {
    auto changed = file;
    changed[at] ^= 0xFF;
    const auto reader = BlockReader::open(changed);
    ASSERT_TRUE(reader) << at;
    EXPECT_TRUE(reader->report().header_damaged);
    EXPECT_EQ(reader->report().blocks_read, kSmallFileBlocks);
  }
}

TEST(BlockDamage, BytesInsertedOrRemovedLoseTheirBlockOnly) {
  const auto file = make_small_file(false);
  const auto second = BlockReader::open(file)->blocks()[1].offset;
  for (const ptrdiff_t delta : {-9, -1, 1, 3, 8, 1000}) {
    auto changed = file;
    const auto at = changed.begin() + static_cast<ptrdiff_t>(second) + 20;
    if (delta < 0) {
      changed.erase(at, at - delta);
    } else {
      changed.insert(at, static_cast<size_t>(delta), 0xAA);
    }
    const auto reader = BlockReader::open(changed);
    ASSERT_TRUE(reader);
    reader->verify_all();
    EXPECT_EQ(reader->report().blocks_read, kSmallFileBlocks - 1) << delta;
    EXPECT_EQ(reader->report().blocks_damaged, 1U) << delta;
  }
}

TEST(BlockDamage, ZerosWhereAPowerCutLeftThemAreATornTail) {
  auto file = make_small_file(false);
  file.resize(file.size() + 4096);
  const auto reader = BlockReader::open(file);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->report().blocks_read, kSmallFileBlocks);
  EXPECT_EQ(reader->report().torn_tail_bytes, 4096U);
  EXPECT_EQ(to_string(reader->report()), "4,096 bytes of a torn last block");
}

TEST(BlockDamage, SyncMarkersWithoutAHeaderAreSteppedOver) {
  const auto file = make_small_file(false);
  std::vector<uint8_t> changed(file.begin(), file.begin() + kFileHeaderBytes);
  for (int i = 0; i < 1000; ++i)
    changed.insert(changed.end(), kBlockSync.begin(), kBlockSync.end());
  changed.insert(changed.end(), file.begin() + kFileHeaderBytes, file.end());
  const auto reader = BlockReader::open(changed);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->report().blocks_read, kSmallFileBlocks);
  EXPECT_EQ(reader->report().bytes_lost, 4000U);
}

TEST(BlockDamage, IndexOfAnotherFileIsNotUsed) {
  const auto larger = make_larger_file();
  const auto larger_reader = BlockReader::open(larger);
  const uint64_t index_at = larger_reader->blocks()[larger_reader->blocks().size() - 2].offset;
  auto file = make_small_file(false);
  file.insert(file.end(), larger.begin() + static_cast<ptrdiff_t>(index_at), larger.end());
  const auto reader = BlockReader::open(file);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->report().index, IndexState::kWrong);
  EXPECT_EQ(reader->report().blocks_read, kSmallFileBlocks + 2);
  EXPECT_EQ(to_string(reader->report()), "index wrong, not used");
}

TEST(BlockDamage, FileOfANewerMajorVersionIsRefusedWithAdvice) {
  FileHeader header;
  header.major = kVersionMajor + 1;
  const auto reader = BlockReader::open(pack(header));
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.status().message(),
            "written in format version 2; this Stepscope reads up to 1: update it");
}

TEST(BlockDamage, WhatIsNoSscopeFileIsRefused) {
  EXPECT_EQ(BlockReader::open({}).status().message(), "the file is empty");
  const std::vector<uint8_t> junk(100, 'x');
  EXPECT_EQ(BlockReader::open(junk).status().message(), "not a .sscope file");
  EXPECT_FALSE(looks_like_sscope(junk));
}

// A file with one block whose header and checksums are right and whose payload is as given.
std::vector<uint8_t> file_with_payload(const std::vector<uint8_t>& payload, uint32_t raw_bytes,
                                       uint32_t rows) {
  BlockHeader header;
  header.type = BlockType::kSlices;
  header.stored_bytes = static_cast<uint32_t>(payload.size());
  header.raw_bytes = raw_bytes;
  header.rows = rows;
  header.payload_crc = crc32c(payload);
  MemorySink file;
  (void)file.append(pack(FileHeader{}));
  (void)file.append(pack(header));
  (void)file.append(payload);
  return file.bytes();
}

std::vector<uint8_t> directory(uint32_t columns, uint32_t values, uint32_t body_bytes) {
  std::vector<uint8_t> payload;
  append_le(payload, columns);
  append_le(payload, uint32_t{0});
  append_le(payload, static_cast<uint16_t>(Column::kStart));
  append_le(payload, ColumnType::kI64);
  payload.insert(payload.end(), 5, 0);
  append_le(payload, values);
  append_le(payload, body_bytes);
  append_le(payload, uint64_t{0});
  return payload;
}

TEST(BlockDamage, HostileDirectoriesAreRefusedBeforeAnythingIsAllocated) {
  const auto max = std::numeric_limits<uint32_t>::max();
  const std::vector<std::vector<uint8_t>> payloads = {
      {},
      {1, 0, 0},
      directory(max, 1, 8),
      directory(2, 1, 8),
      directory(1, 1, 9),
      directory(1, 1, max),
      directory(1, max, 8),
      directory(1, kMaxRawBytes / 8 + 1, 8),
  };
  for (const auto& payload : payloads) {
    const auto file = file_with_payload(payload, kMaxRawBytes, 1);
    const auto reader = BlockReader::open(file);
    ASSERT_TRUE(reader);
    ASSERT_EQ(reader->blocks().size(), 1U);
    EXPECT_FALSE(reader->read(reader->blocks()[0]));
    EXPECT_EQ(reader->report().blocks_damaged, 1U);
  }
  const auto sound = file_with_payload(directory(1, 1, 8), 8, 1);
  EXPECT_TRUE(BlockReader::open(sound)->read(BlockReader::open(sound)->blocks()[0]));
}

TEST(BlockDamage, HeadersAboveTheLimitsAreNoHeaders) {
  for (const auto& file : {file_with_payload({}, kMaxRawBytes + 1, 1),
                           file_with_payload({}, kMaxRawBytes, kMaxRows + 1)}) {
    const auto reader = BlockReader::open(file);
    ASSERT_TRUE(reader);
    EXPECT_TRUE(reader->blocks().empty());
    EXPECT_EQ(reader->report().torn_tail_bytes, kBlockHeaderBytes);
  }
}

TEST(BlockDamage, TextsThatReachPastTheirBytesAreRefused) {
  MemorySink sink;
  auto writer = BlockWriter::create(sink);
  const std::vector<uint32_t> lengths = {3, std::numeric_limits<uint32_t>::max()};
  ASSERT_TRUE(writer->write(
      BlockBuilder(BlockType::kStrings, 2).add_text(Column::kText, lengths, "abcdef")));
  const auto reader = BlockReader::open(sink.bytes());
  const auto block = reader->read(reader->blocks()[0]);
  ASSERT_TRUE(block);
  TextColumn texts;
  ColumnDecoder decoder;
  EXPECT_FALSE(decoder.decode_text(*block, Column::kText, texts));
}

// Takes `capacity` bytes, writes what fits and then fails, as a full disk does.
class FullSink final : public ByteSink {
 public:
  Status append(std::span<const uint8_t> bytes) override {
    const size_t fits = std::min<size_t>(bytes.size(), capacity - memory.size());
    (void)memory.append(bytes.first(fits));
    return fits == bytes.size() ? Status() : Status::error("No space left on device");
  }
  Status truncate(uint64_t size) override {
    return can_truncate ? memory.truncate(size) : Status::error("Input/output error");
  }
  uint64_t size() const override { return memory.size(); }

  MemorySink memory;
  uint64_t capacity = 0;
  bool can_truncate = true;
};

TEST(BlockWriter, LeavesAValidPrefixWhenTheDiskIsFullAndGoesOnWhenItIsNot) {
  const std::vector<uint32_t> values = {1, 5, 2};
  BlockBuilder block(BlockType::kSlices, 3);
  block.add<uint32_t>(Column::kLabel, values);
  for (const bool can_truncate : {true, false}) {
    FullSink sink;
    sink.capacity = 200;
    auto writer = BlockWriter::create(sink);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write(block));
    const uint64_t whole = sink.size();
    sink.can_truncate = can_truncate;
    EXPECT_EQ(writer->write(block).message(), "No space left on device");
    EXPECT_EQ(writer->blocks_written(), 1U);
    EXPECT_EQ(writer->bytes_written(), whole);
    const auto full = BlockReader::open(sink.memory.bytes());
    EXPECT_EQ(full->report().blocks_read, 1U);
    EXPECT_EQ(full->report().torn_tail_bytes, can_truncate ? 0U : 200 - whole);

    sink.capacity = 10000;
    sink.can_truncate = true;
    ASSERT_TRUE(writer->write(block));
    ASSERT_TRUE(writer->finish());
    const auto reader = BlockReader::open(sink.memory.bytes());
    EXPECT_TRUE(reader->report().is_clean());
    EXPECT_EQ(reader->report().index, IndexState::kSound);
    EXPECT_EQ(reader->report().blocks_read, 4U);
  }
}

TEST(BlockWriter, RefusesASinkThatIsNotEmpty) {
  MemorySink sink;
  ASSERT_TRUE(BlockWriter::create(sink));
  EXPECT_FALSE(BlockWriter::create(sink));
}

}  // namespace
}  // namespace stepscope::format
