// A small .sscope file with a block of nearly every shape, for the tests of this layer and as a
// seed of its fuzzer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/byte_sink.h"
#include "base/check.h"
#include "format/block_writer.h"
#include "format/record.h"

namespace stepscope::format {

inline std::vector<int64_t> small_file_starts() { return {1000, 1010, 1030, 1030, 2000, 2500}; }

inline void write_small_blocks(BlockWriter& writer) {
  const auto write = [&](const BlockBuilder& block) {
    CHECK(writer.write(block).ok(), "memory takes every block");
  };
  const std::vector<std::string_view> keys = {"stepscope.writer", "host"};
  const std::vector<std::string_view> values = {"test", "a machine"};
  write(BlockBuilder(BlockType::kMetadata, 2)
            .add_text(Column::kKeyText, keys)
            .add_text(Column::kValueText, values));

  const std::vector<std::string_view> texts = {"", "aten::conv2d", "cpu_op", "naïve \n text"};
  write(BlockBuilder(BlockType::kStrings, 4)
            .add_one<uint64_t>(Column::kFirstId, 0)
            .add_text(Column::kText, texts));

  const std::vector<uint32_t> names = {1, 3}, categories = {2, 2};
  const std::vector<uint8_t> kinds = {2, 0};
  write(BlockBuilder(BlockType::kLabels, 2)
            .add_one<uint64_t>(Column::kFirstId, 0)
            .add<uint32_t>(Column::kName, names)
            .add<uint32_t>(Column::kCategory, categories)
            .add<uint8_t>(Column::kKind, kinds));

  const auto starts = small_file_starts();
  const std::vector<uint32_t> durs = {500, 10, 400, kLongDur, 5, 0}, labels = {0, 1, 1, 0, 1, 1};
  const std::vector<uint32_t> long_rows = {3};
  const std::vector<int64_t> long_durs = {5'000'000'000};
  write(BlockBuilder(BlockType::kSlices, 6)
            .set_stream(0)
            .set_time_range(1000, 5'000'001'030)
            .add_one<uint64_t>(Column::kFirstId, 0)
            .add<int64_t>(Column::kStart, starts)
            .add<uint32_t>(Column::kDur, durs)
            .add<uint32_t>(Column::kLabel, labels)
            .add<uint32_t>(Column::kLongDurRow, long_rows)
            .add<int64_t>(Column::kLongDurNs, long_durs));

  const std::vector<uint32_t> rows = {1, 4};
  const std::vector<double> flops = {0.5, 1e300};
  write(BlockBuilder(BlockType::kArgs, 2)
            .set_stream(3)
            .add<uint32_t>(Column::kSlice, rows)
            .add<double>(Column::kValueDouble, flops));

  std::vector<int64_t> times;
  std::vector<double> levels;
  for (int i = 0; i < 200; ++i) {
    times.push_back(1000 + 7 * i + i % 3);
    levels.push_back((i * i) % 1000);
  }
  write(BlockBuilder(BlockType::kCounters, 200)
            .set_stream(1)
            .set_time_range(times.front(), times.back())
            .add<int64_t>(Column::kTime, times)
            .add<double>(Column::kValueDouble, levels));

  const std::vector<uint64_t> words = {pack_record(RecordKind::kBegin, 0, 10),
                                       pack_record(RecordKind::kClockSync, 0, 0), 123456789,
                                       pack_record(RecordKind::kEnd, 0, 20)};
  std::vector<uint32_t> ticks, payloads;
  for (const uint64_t word : words) {
    ticks.push_back(lower_half(word));
    payloads.push_back(upper_half(word));
  }
  write(BlockBuilder(BlockType::kRecords, 4)
            .set_stream(9)
            .set_tick_range(100, 123456809)
            .add_one<uint64_t>(Column::kFirstTick, 100)
            .add<uint32_t>(Column::kTicks, ticks)
            .add<uint32_t>(Column::kPayload, payloads));
}

inline constexpr uint64_t kSmallFileBlocks = 7;

inline std::vector<uint8_t> make_small_file(bool with_index) {
  MemorySink sink;
  auto writer = BlockWriter::create(sink);
  CHECK(writer.ok(), "memory takes a header");
  write_small_blocks(*writer);
  if (with_index) CHECK(writer->finish().ok(), "memory takes an index");
  return sink.bytes();
}

}  // namespace stepscope::format
