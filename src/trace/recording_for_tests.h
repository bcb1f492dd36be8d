// RecordingForTests: a .sscope file of a recording, made by hand: what the recorder writes.
//
//   RecordingForTests file({.file_id = 7, .segment = 1});
//   file.records(0, {pack_record(RecordKind::kBegin, 0, 5)});
//   file.close();
//   file.save(folder + "/1234.1.sscope");
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_sink.h"
#include "base/check.h"
#include "format/block_writer.h"
#include "format/record.h"
#include "trace/file_schema.h"

namespace stepscope {

// Labels a, b, c are 0, 1, 2 and strings 1, 2, 3; track 0 is a thread; a tick is 1 ns.
class RecordingForTests {
 public:
  struct Options {
    uint64_t file_id = 1;
    uint32_t segment = 0;
    int64_t pid = 1234;
    std::string boot_id = "boot";
    std::string pool_path;
    int64_t monotonic_ns = 0;  // at tick 0
    int64_t realtime_ns = 0;
    std::string sampler;           // it is a sampler's file: its pid and start
    bool is_beside_calls = false;  // likewise: calls are recorded as well
    std::string rank;              // what the process's launcher told it
    int64_t tid = 0;
    uint32_t thread_name = 0;   // a string: 1 a, 2 b, 3 c
    bool has_own_name = false;  // the program gave it
  };

  explicit RecordingForTests(const Options& options)
      : writer_(format::BlockWriter::create(sink_, {.zstd_level = 1, .file_id = options.file_id})) {
    using format::BlockBuilder;
    using format::BlockType;
    using format::Column;
    metadata({{format::kBootIdKey, options.boot_id},
              {format::kSegmentKey, std::to_string(options.segment)},
              {format::kPoolKey, options.pool_path}});
    if (!options.sampler.empty()) metadata({{format::kSamplerKey, options.sampler}});
    if (options.is_beside_calls) metadata({{format::kBesideCallsKey, "1"}});
    if (!options.rank.empty()) metadata({{format::kRankKey, options.rank}}, 0);
    const std::vector<uint64_t> ticks = {0};
    const std::vector<int64_t> monotonic = {options.monotonic_ns}, realtime = {options.realtime_ns};
    write(BlockBuilder(BlockType::kClock, 1)
              .add<uint64_t>(Column::kTicks, ticks)
              .add<int64_t>(Column::kMonotonicNs, monotonic)
              .add<int64_t>(Column::kRealtimeNs, realtime)
              .add_one<uint64_t>(Column::kTicksPerSecond, 1'000'000'000));
    const std::vector<std::string_view> texts = {"", "a", "b", "c"};
    const std::vector<uint32_t> names = {1, 2, 3}, ids = {0};
    write(BlockBuilder(BlockType::kStrings, 4)
              .add_one<uint64_t>(Column::kFirstId, 0)
              .add_text(Column::kText, texts));
    write(BlockBuilder(BlockType::kLabels, 3)
              .add_one<uint64_t>(Column::kFirstId, 0)
              .add<uint32_t>(Column::kName, names));
    write(BlockBuilder(BlockType::kProcesses, 1)
              .add_one<uint32_t>(Column::kId, 0)
              .add_one<int64_t>(Column::kNumber, options.pid));
    write(BlockBuilder(BlockType::kTracks, 1)
              .add<uint32_t>(Column::kId, ids)
              .add_one<int64_t>(Column::kNumber, options.tid)
              .add_one<uint32_t>(Column::kName, options.thread_name)
              .add_one<uint8_t>(Column::kFlags, options.has_own_name ? kHasOwnName : uint8_t{0}));
  }

  void write(const format::BlockBuilder& block) {
    CHECK(writer_->write(block).ok(), "memory takes every block");
  }

  void metadata(const std::vector<std::pair<std::string_view, std::string>>& entries,
                uint8_t flags_of_all = kMetadataOfFile) {
    std::vector<std::string_view> keys, values;
    for (const auto& [key, value] : entries) {
      keys.push_back(key);
      values.push_back(value);
    }
    const std::vector<uint8_t> flags(entries.size(), flags_of_all);
    write(format::BlockBuilder(format::BlockType::kMetadata, static_cast<uint32_t>(keys.size()))
              .add_text(format::Column::kKeyText, keys)
              .add_text(format::Column::kValueText, values)
              .add<uint8_t>(format::Column::kFlags, flags));
  }

  // The words of thread 0 from `first_word` on; deltas count from `first_tick`.
  void records(uint64_t first_word, const std::vector<uint64_t>& words, uint64_t first_tick = 0,
               uint64_t dropped = 0) {
    using format::Column;
    std::vector<uint32_t> lower, upper;
    for (const uint64_t word : words) {
      lower.push_back(format::lower_half(word));
      upper.push_back(format::upper_half(word));
    }
    write(format::BlockBuilder(format::BlockType::kRecords, static_cast<uint32_t>(words.size()))
              .set_stream(0)
              .add_one<uint64_t>(Column::kFirstTick, first_tick)
              .add_one<uint32_t>(Column::kTrack, 0)
              .add_one<uint64_t>(Column::kDropped, dropped)
              .add_one<uint64_t>(Column::kFirstWord, first_word)
              .add<uint32_t>(Column::kTicks, lower)
              .add<uint32_t>(Column::kPayload, upper));
  }

  // Samples of thread 0 in the function "c", and what the sampler counted.
  void samples(const std::vector<int64_t>& times, int64_t ticks, int64_t missed,
               uint8_t flags = 0) {
    using format::BlockBuilder;
    using format::BlockType;
    using format::Column;
    const auto rows = static_cast<uint32_t>(times.size());
    const std::vector<uint32_t> stacks(rows, 0);
    const std::vector<int64_t> weights(rows, 10);
    const std::vector<uint8_t> all_flags(rows, flags);
    write(BlockBuilder(BlockType::kFrames, 1)
              .add_one<uint64_t>(Column::kFirstId, 0)
              .add_one<uint32_t>(Column::kName, 3));
    write(BlockBuilder(BlockType::kStacks, 1)
              .add_one<uint64_t>(Column::kFirstId, 0)
              .add_one<uint32_t>(Column::kParent, format::kNoneU32)
              .add_one<uint32_t>(Column::kFrame, 0));
    write(BlockBuilder(BlockType::kSamples, rows)
              .set_stream(0)
              .add<int64_t>(Column::kTime, times)
              .add<uint32_t>(Column::kStack, stacks)
              .add<int64_t>(Column::kWeight, weights)
              .add<uint8_t>(Column::kFlags, all_flags));
    if (ticks == 0) return;
    const std::vector<std::string_view> keys = {"sampler_ticks", "ticks_missed"};
    const std::vector<int64_t> counts = {ticks, missed};
    write(BlockBuilder(BlockType::kStats, 2)
              .add_text(Column::kKeyText, keys)
              .add<int64_t>(Column::kCount, counts));
  }

  void close() { metadata({{format::kClosedKey, "1"}}); }
  const std::vector<uint8_t>& bytes() const { return sink_.bytes(); }
  void save(const std::string& path) const { save(path, bytes()); }
  static void save(const std::string& path, const std::vector<uint8_t>& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

 private:
  MemorySink sink_;
  Result<format::BlockWriter> writer_;
};

}  // namespace stepscope
