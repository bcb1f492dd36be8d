// BlockWriter and BlockReader on files that are whole.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/mapped_file.h"
#include "format/block_reader.h"
#include "format/block_writer.h"
#include "format/column_decoder.h"
#include "format/small_file_for_tests.h"

namespace stepscope::format {
namespace {

const BlockInfo* find_block(const BlockReader& reader, BlockType type) {
  for (const BlockInfo& info : reader.blocks()) {
    if (info.header.type == type) return &info;
  }
  return nullptr;
}

void expect_small_file(const BlockReader& reader) {
  ColumnDecoder decoder;
  const auto strings = reader.read(*find_block(reader, BlockType::kStrings));
  ASSERT_TRUE(strings);
  TextColumn texts;
  ASSERT_TRUE(decoder.decode_text(*strings, Column::kText, texts));
  ASSERT_EQ(texts.size(), 4U);
  EXPECT_EQ(texts[0], "");
  EXPECT_EQ(texts[1], "aten::conv2d");
  EXPECT_EQ(texts[3], "naïve \n text");

  const auto slices = reader.read(*find_block(reader, BlockType::kSlices));
  ASSERT_TRUE(slices);
  EXPECT_EQ(slices->header().stream, 0U);
  EXPECT_TRUE(slices->header().has_time_range());
  EXPECT_EQ(slices->header().max_ns, 5'000'001'030);
  std::vector<int64_t> starts, long_durs;
  std::vector<uint32_t> durs;
  ASSERT_TRUE(decoder.decode_rows(*slices, Column::kStart, starts));
  ASSERT_TRUE(decoder.decode_rows(*slices, Column::kDur, durs));
  ASSERT_TRUE(decoder.decode_all(*slices, Column::kLongDurNs, long_durs));
  EXPECT_EQ(starts, small_file_starts());
  EXPECT_EQ(durs[3], kLongDur);
  EXPECT_EQ(long_durs, (std::vector<int64_t>{5'000'000'000}));

  const auto records = reader.read(*find_block(reader, BlockType::kRecords));
  ASSERT_TRUE(records);
  EXPECT_EQ(*decoder.decode_one<uint64_t>(*records, Column::kFirstTick), 100U);
  EXPECT_EQ(records->header().flags, kHasTimeRange | kRangeIsTicks);
}

TEST(BlockFile, GivesBackWhatWasWritten) {
  const auto file = make_small_file(false);
  const auto reader = BlockReader::open(file);
  ASSERT_TRUE(reader) << reader.status().message();
  EXPECT_EQ(reader->blocks().size(), kSmallFileBlocks);
  expect_small_file(*reader);
  reader->verify_all();
  const ReadReport report = reader->report();
  EXPECT_TRUE(report.is_clean());
  EXPECT_EQ(report.blocks_read, kSmallFileBlocks);
  EXPECT_EQ(report.index, IndexState::kAbsent);
  EXPECT_EQ(to_string(report), "");
}

TEST(BlockFile, OfTheFirstVersionIsStillReadable) {
  const auto file = MappedFile::open("fuzz/corpus/block_reader/small_with_index.sscope");
  ASSERT_TRUE(file) << file.status().message();
  const auto reader = BlockReader::open(file->bytes());
  ASSERT_TRUE(reader);
  reader->verify_all();
  EXPECT_TRUE(reader->report().is_clean());
  expect_small_file(*reader);
}

// The example of docs/format.md, byte by byte. Nothing in it is compressed, so that it does not
// depend on the version of zstd.
TEST(BlockFile, IsTheExampleOfTheFormatDescription) {
  const std::vector<uint8_t> example = {
      0x89, 0x53, 0x53, 0x43, 0x4F, 0x50, 0x45, 0x0A, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0xFB, 0x37, 0x8E, 0x19, 0xD5, 0x53, 0x42, 0xB2, 0x05, 0x00, 0x01, 0x00, 0x48, 0x00,
      0x00, 0x00, 0x30, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00,
      0xE8, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xDC, 0x05, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0xA7, 0xAC, 0x47, 0xE3, 0x49, 0x7E, 0x91, 0xB9, 0x02, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00, 0x12, 0x00, 0x05, 0x00, 0x01, 0x00, 0x00, 0x00, 0x04, 0x00,
      0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x14, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x04, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0xE8, 0x03, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x0A, 0x1E, 0x1E,
      0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  const std::vector<int64_t> starts = {1000, 1010, 1030, 1030};
  const std::vector<uint32_t> labels = {7, 7, 7, 7};
  MemorySink sink;
  auto writer = BlockWriter::create(sink);
  ASSERT_TRUE(writer->write(BlockBuilder(BlockType::kSlices, 4)
                                .set_stream(2)
                                .set_time_range(1000, 1500)
                                .add<int64_t>(Column::kStart, starts)
                                .add<uint32_t>(Column::kLabel, labels)));
  EXPECT_EQ(sink.bytes(), example);

  const auto reader = BlockReader::open(example);
  ASSERT_TRUE(reader);
  const auto block = reader->read(reader->blocks()[0]);
  ASSERT_TRUE(block);
  std::vector<int64_t> read_starts;
  ColumnDecoder decoder;
  ASSERT_TRUE(decoder.decode_rows(*block, Column::kStart, read_starts));
  EXPECT_EQ(read_starts, starts);
}

TEST(BlockFile, BlocksLieOnMultiplesOfEight) {
  const auto file = make_small_file(true);
  const auto reader = BlockReader::open(file);
  ASSERT_TRUE(reader);
  for (const BlockInfo& info : reader->blocks()) EXPECT_EQ(info.offset % 8, 0U);
  EXPECT_EQ(file.size() % 8, 0U);
}

TEST(BlockFile, EndsInATrailerOf80BytesWhenFinished) {
  const auto file = make_small_file(true);
  const auto reader = BlockReader::open(file);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->report().index, IndexState::kSound);
  EXPECT_EQ(reader->blocks().size(), kSmallFileBlocks + 2);
  EXPECT_EQ(reader->blocks().back().offset, file.size() - 80);
}

TEST(BlockFile, MayGrowAfterItWasFinished) {
  MemorySink sink;
  auto writer = BlockWriter::create(sink);
  ASSERT_TRUE(writer);
  write_small_blocks(*writer);
  ASSERT_TRUE(writer->finish());
  write_small_blocks(*writer);
  EXPECT_EQ(BlockReader::open(sink.bytes())->report().index, IndexState::kAbsent);
  ASSERT_TRUE(writer->finish());
  const auto reader = BlockReader::open(sink.bytes());
  EXPECT_EQ(reader->report().index, IndexState::kSound);
  EXPECT_EQ(reader->blocks().size(), 2 * (kSmallFileBlocks + 2));
}

TEST(BlockFile, WithoutBlocksIsWhole) {
  MemorySink sink;
  ASSERT_TRUE(BlockWriter::create(sink, {.zstd_level = 1, .file_id = 42}));
  const auto reader = BlockReader::open(sink.bytes());
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->blocks().empty());
  EXPECT_TRUE(reader->report().is_clean());
  EXPECT_EQ(reader->file_header().file_id, 42U);
}

TEST(BlockFile, SkipsAndCountsBlocksOfUnknownType) {
  MemorySink sink;
  auto writer = BlockWriter::create(sink);
  const std::vector<uint32_t> values = {1, 2, 3};
  ASSERT_TRUE(writer->write(BlockBuilder(BlockType{777}, 3).add<uint32_t>(Column{1024}, values)));
  write_small_blocks(*writer);
  const auto reader = BlockReader::open(sink.bytes());
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->report().unknown_blocks, 1U);
  EXPECT_TRUE(reader->report().is_clean());
  EXPECT_EQ(to_string(reader->report()), "1 block of unknown type skipped");
  expect_small_file(*reader);
}

TEST(BlockFile, EmptyBlocksAndColumnsAreAllowed) {
  MemorySink sink;
  auto writer = BlockWriter::create(sink);
  ASSERT_TRUE(writer->write(BlockBuilder(BlockType::kSlices, 0)));
  ASSERT_TRUE(writer->write(BlockBuilder(BlockType::kStrings, 0)
                                .add_text(Column::kText, std::vector<std::string_view>{})));
  const auto reader = BlockReader::open(sink.bytes());
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->blocks().size(), 2U);
  const auto strings = reader->read(reader->blocks()[1]);
  ASSERT_TRUE(strings);
  ColumnDecoder decoder;
  TextColumn texts;
  ASSERT_TRUE(decoder.decode_text(*strings, Column::kText, texts));
  EXPECT_EQ(texts.size(), 0U);
}

TEST(BlockFile, MissingColumnIsAnErrorOrItsFallback) {
  const auto file = make_small_file(false);
  const auto reader = BlockReader::open(file);
  const auto slices = reader->read(*find_block(*reader, BlockType::kSlices));
  ASSERT_TRUE(slices);
  ColumnDecoder decoder;
  std::vector<uint8_t> flags;
  EXPECT_EQ(decoder.decode_rows(*slices, Column::kFlags, flags).message(), "column 9: is missing");
  ASSERT_TRUE(decoder.decode_rows_or<uint8_t>(*slices, Column::kFlags, 7, flags));
  EXPECT_EQ(flags, std::vector<uint8_t>(6, 7));
  std::vector<int64_t> starts = {1};
  ASSERT_TRUE(decoder.append_rows(*slices, Column::kStart, starts));
  EXPECT_EQ(starts.size(), 7U);
  EXPECT_EQ(starts[1], 1000);
}

TEST(BlockFile, RefusesToWriteABlockAboveTheLimits) {
  MemorySink sink;
  auto writer = BlockWriter::create(sink);
  const std::vector<int64_t> values(kMaxRawBytes / 8 + 1);
  const uint64_t before = writer->bytes_written();
  const Status status =
      writer->write(BlockBuilder(BlockType::kSlices, 1).add<int64_t>(Column::kStart, values));
  EXPECT_FALSE(status);
  EXPECT_EQ(sink.size(), before);
}

TEST(BlockFile, IsReadBySeveralThreadsAtOnce) {
  const auto file = make_small_file(true);
  const auto reader = BlockReader::open(file);
  ASSERT_TRUE(reader);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      expect_small_file(*reader);
      for (const BlockInfo& info : reader->blocks()) reader->count_damaged(info);
      EXPECT_GT(reader->report().blocks_damaged, 0U);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(reader->report().blocks_damaged, kSmallFileBlocks + 2);
}

// STEPSCOPE_CORPUS_OUT=fuzz/corpus/block_reader build/release/format_test --gtest_filter=*Seeds*
TEST(BlockFile, WritesTheSeedsOfTheFuzzerWhenAsked) {
  const char* folder = std::getenv("STEPSCOPE_CORPUS_OUT");
  if (folder == nullptr) GTEST_SKIP() << "STEPSCOPE_CORPUS_OUT is not set";
  const auto write = [&](const std::string& name, const std::vector<uint8_t>& bytes) {
    std::ofstream out(std::filesystem::path(folder) / name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  };
  auto file = make_small_file(false);
  write("small.sscope", file);
  write("small_with_index.sscope", make_small_file(true));
  write("header_only.sscope", {file.begin(), file.begin() + kFileHeaderBytes});
  write("torn.sscope", {file.begin(), file.end() - 50});
  file[kFileHeaderBytes + 9] ^= 0x40;
  write("damaged_header.sscope", file);

  std::mt19937_64 random(1);
  std::vector<int64_t> starts;
  std::vector<uint32_t> durs, labels;
  int64_t now_ns = 1700000000000000000;
  for (int i = 0; i < 1000; ++i) {
    starts.push_back(now_ns += static_cast<int64_t>(random() % 100000));
    durs.push_back(static_cast<uint32_t>(random() % 3000));
    labels.push_back(static_cast<uint32_t>(random() % 5));
  }
  MemorySink sink;
  auto writer = BlockWriter::create(sink);
  ASSERT_TRUE(writer->write(BlockBuilder(BlockType::kSlices, 1000)
                                .add<int64_t>(Column::kStart, starts)
                                .add<uint32_t>(Column::kDur, durs)
                                .add<uint32_t>(Column::kLabel, labels)));
  write("slices.sscope", sink.bytes());
}

}  // namespace
}  // namespace stepscope::format
