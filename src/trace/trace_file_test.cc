#include "trace/trace_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "format/block_reader.h"
#include "format/block_writer.h"
#include "trace/row_budget.h"
#include "trace/trace_for_tests.h"

namespace stepscope {
namespace {

using format::BlockBuilder;
using format::BlockType;
using format::Column;

std::vector<uint8_t> save(const Trace& trace, const TraceWriteOptions& options = {}) {
  MemorySink sink;
  EXPECT_TRUE(save_trace(trace, sink, options).ok());
  return sink.bytes();
}

Trace load_bytes(std::span<const uint8_t> bytes) {
  auto trace = load_trace(bytes, "test.sscope");
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return std::move(*trace);
}

// Writes hand-made blocks after an honest beginning: two strings, one label, one track.
class HandMade {
 public:
  HandMade() {
    const std::vector<std::string_view> texts = {"", "conv"};
    write(BlockBuilder(BlockType::kStrings, 2)
              .add_one<uint64_t>(Column::kFirstId, 0)
              .add_text(Column::kText, texts));
    write(BlockBuilder(BlockType::kLabels, 1)
              .add_one<uint64_t>(Column::kFirstId, 0)
              .add_one<uint32_t>(Column::kName, 1));
    write(BlockBuilder(BlockType::kProcesses, 1).add_one<uint32_t>(Column::kId, 0));
    write(BlockBuilder(BlockType::kTracks, 1).add_one<uint32_t>(Column::kId, 0));
  }
  HandMade& write(const BlockBuilder& block) {
    EXPECT_TRUE(writer_->write(block).ok());
    return *this;
  }
  HandMade& write_slices(uint64_t first_id, std::vector<int64_t> starts, uint32_t label = 0,
                         uint32_t track = 0) {
    const std::vector<uint32_t> durs(starts.size(), 5), labels(starts.size(), label);
    return write(BlockBuilder(BlockType::kSlices, static_cast<uint32_t>(starts.size()))
                     .set_stream(track)
                     .add_one<uint64_t>(Column::kFirstId, first_id)
                     .add<int64_t>(Column::kStart, starts)
                     .add<uint32_t>(Column::kDur, durs)
                     .add<uint32_t>(Column::kLabel, labels));
  }
  // Frame 0 and stack 0, which stands at a line.
  HandMade& write_stack(int32_t line) {
    write(BlockBuilder(BlockType::kFrames, 1)
              .add_one<uint64_t>(Column::kFirstId, 0)
              .add_one<uint32_t>(Column::kName, 1));
    const std::vector<int32_t> lines = {line};
    return write(BlockBuilder(BlockType::kStacks, 1)
                     .add_one<uint64_t>(Column::kFirstId, 0)
                     .add_one<uint32_t>(Column::kParent, format::kNoneU32)
                     .add_one<uint32_t>(Column::kFrame, 0)
                     .add<int32_t>(Column::kLine, lines));
  }
  HandMade& write_args(std::vector<uint32_t> slices, std::vector<int32_t> values) {
    return write(BlockBuilder(BlockType::kArgs, static_cast<uint32_t>(slices.size()))
                     .set_stream(1)
                     .add<uint32_t>(Column::kSlice, slices)
                     .add<int32_t>(Column::kValueInt, values));
  }
  Trace load() { return load_bytes(bytes()); }
  const std::vector<uint8_t>& bytes() const { return sink_.bytes(); }

 private:
  MemorySink sink_;
  Result<format::BlockWriter> writer_ = format::BlockWriter::create(sink_);
};

uint64_t damaged(const Trace& trace) { return trace.stats().get(Stat::kBlocksDamaged); }
uint64_t skipped(const Trace& trace) { return trace.stats().get(Stat::kValuesSkipped); }

TEST(TraceFile, KeepsAllThatATraceHolds) {
  for (const int scale : {0, 1, 2, 100, 3000}) {
    const Trace trace = make_full_trace(scale, static_cast<uint64_t>(scale));
    expect_same_trace(trace, load_bytes(save(trace)));
    expect_same_trace(trace, load_bytes(save(trace, {.zstd_level = 1, .rows_per_block = 64})));
  }
}

TEST(TraceFile, KeepsATraceWithoutAnything) {
  const Trace trace = TraceBuilder().finish();
  const Trace loaded = load_bytes(save(trace));
  expect_same_trace(trace, loaded);
  EXPECT_EQ(loaded.source(), "test.sscope");
}

TEST(TraceFile, IsTheSameWhenSavedAgain) {
  const std::vector<uint8_t> first = save(make_full_trace(500));
  Trace loaded = load_bytes(first);
  const std::vector<uint8_t> second = save(loaded);
  EXPECT_EQ(save(load_bytes(second)), second);
}

TEST(TraceFile, GoesThroughAFileOnDisk) {
  const std::string path = testing::TempDir() + "trace_file_test.sscope";
  const Trace trace = make_full_trace(50);
  ASSERT_TRUE(save_trace(trace, path).ok());
  auto loaded = load_trace(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  expect_same_trace(trace, *loaded);
  EXPECT_EQ(loaded->source(), path);
  std::remove(path.c_str());
}

TEST(TraceFile, SaysWhatIsWrongInOneLine) {
  EXPECT_EQ(
      load_trace("/nowhere/at/all.sscope").status().message().find("/nowhere/at/all.sscope: "), 0u);
  const std::vector<uint8_t> junk(100, 'x');
  EXPECT_EQ(load_trace(junk, "junk").status().message(), "junk: not a .sscope file");
  EXPECT_EQ(load_trace({}, "empty").status().message(), "empty: the file is empty");
}

TEST(TraceFile, WritesDefinitionsBeforeUseAndArgumentsAfterTheirSlices) {
  const std::vector<uint8_t> bytes = save(make_full_trace(300), {.rows_per_block = 100});
  const auto reader = format::BlockReader::open(bytes);
  bool uses = false;
  int64_t slices_end = -1;
  for (const format::BlockInfo& info : reader->blocks()) {
    const BlockType type = info.header.type;
    const bool defines = type == BlockType::kStrings || type == BlockType::kLabels ||
                         type == BlockType::kTracks || type == BlockType::kProcesses;
    EXPECT_FALSE(defines && uses);
    uses |= type == BlockType::kSlices;
    if (type == BlockType::kSlices) {
      EXPECT_TRUE(info.header.has_time_range());
      slices_end = 0;
    }
    if (type == BlockType::kArgs) {
      EXPECT_EQ(slices_end, 0);
    }
    if (type == BlockType::kCounters) slices_end = -1;
  }
}

TEST(TraceFile, KeepsTheIdsBehindALostBlockOfStrings) {
  const Trace trace = make_full_trace(200);
  std::vector<uint8_t> bytes = save(trace, {.rows_per_block = 32});
  const auto reader = format::BlockReader::open(bytes);
  size_t strings_blocks = 0;
  for (const format::BlockInfo& info : reader->blocks()) {
    if (info.header.type == BlockType::kStrings && ++strings_blocks == 2) {
      bytes[info.offset + format::kBlockHeaderBytes + 20] ^= 1;
    }
  }
  const Trace loaded = load_bytes(bytes);
  EXPECT_EQ(damaged(loaded), 1u);
  EXPECT_GT(loaded.stats().get(Stat::kBytesLost), 0u);
  EXPECT_GE(skipped(loaded), 32u);
  ASSERT_EQ(loaded.slices().size(), trace.slices().size());
  size_t named = 0;
  for (uint32_t row = 0; row < trace.slices().size(); ++row) {
    const std::string_view name = loaded.slice_name(SliceId{row});
    EXPECT_TRUE(name == trace.slice_name(SliceId{row}) || name == "?") << name;
    named += name != "?";
  }
  EXPECT_GT(named, 0u);
  ASSERT_FALSE(loaded.stats().notes().empty());
  EXPECT_EQ(loaded.stats().notes()[0].find("1 block damaged"), 0u) << loaded.stats().notes()[0];
}

TEST(TraceFile, LosesOnlyTheRowsOfADamagedBlockOfSlices) {
  const Trace trace = make_full_trace(300);
  std::vector<uint8_t> bytes = save(trace, {.rows_per_block = 100});
  const auto reader = format::BlockReader::open(bytes);
  size_t slice_blocks = 0;
  for (const format::BlockInfo& info : reader->blocks()) {
    if (info.header.type == BlockType::kSlices && ++slice_blocks == 2) {
      bytes[info.offset + format::kBlockHeaderBytes + 100] ^= 0x40;
    }
  }
  const Trace loaded = load_bytes(bytes);
  EXPECT_EQ(damaged(loaded), 1u);
  ASSERT_EQ(loaded.slices().size(), trace.slices().size() - 100);
  const ArgColumn* ids = loaded.find_args("External id", ArgType::kInt);
  ASSERT_EQ(ids->rows.size(), loaded.slices().size());
  for (uint32_t row = 0; row < loaded.slices().size(); ++row) {
    const uint32_t before = row < 100 ? row : row + 100;
    ASSERT_EQ(loaded.slices().start_ns[row], trace.slices().start_ns[before]);
    ASSERT_EQ(ids->ints[row], trace.find_args("External id", ArgType::kInt)->ints[before]);
  }
  EXPECT_GT(loaded.stats().get(Stat::kFlowsUnbound), 0u);
  EXPECT_EQ(loaded.flows().from.size() + loaded.stats().get(Stat::kFlowsUnbound),
            trace.flows().from.size());
}

TEST(TraceFile, GivesEveryBlockBeforeACutAndSaysWhatWasLost) {
  const Trace trace = make_full_trace(4);
  const std::vector<uint8_t> bytes = save(trace, {.rows_per_block = 5});
  const auto whole = format::BlockReader::open(bytes);
  for (size_t cut = format::kFileHeaderBytes; cut <= bytes.size(); ++cut) {
    const auto loaded = load_trace(std::span(bytes).first(cut), "cut");
    ASSERT_TRUE(loaded.ok());
    uint64_t slices = 0;
    uint64_t end = format::kFileHeaderBytes;
    for (const format::BlockInfo& info : whole->blocks()) {
      if (info.offset + format::kBlockHeaderBytes + info.header.stored_bytes > cut) break;
      if (info.header.type == BlockType::kSlices) slices += info.header.rows;
      end = info.offset + format::block_extent(info.header.stored_bytes);
    }
    ASSERT_EQ(loaded->slices().size(), slices) << cut;
    ASSERT_EQ(loaded->stats().get(Stat::kBytesTruncated), cut > end ? cut - end : 0) << cut;
    ASSERT_EQ(damaged(*loaded), 0u) << cut;
    const auto& notes = loaded->stats().notes();
    const bool says = !notes.empty() && notes[0].find("torn last block") != std::string::npos;
    ASSERT_EQ(says, cut > end) << cut;
  }
  for (size_t cut = 0; cut < format::kFileHeaderBytes; ++cut) {
    ASSERT_FALSE(load_trace(std::span(bytes).first(cut), "cut").ok());
  }
}

TEST(TraceFile, GivesEveryBlockBeforeACutAtEveryThousandthByte) {
  const Trace trace = make_full_trace(3000);
  const std::vector<uint8_t> bytes = save(trace, {.rows_per_block = 500});
  const auto whole = format::BlockReader::open(bytes);
  size_t with_all_slices = 0;
  for (size_t cut = 1000; cut < bytes.size(); cut += 1000) {
    const Trace loaded = load_bytes(std::span(bytes).first(cut));
    uint64_t slices = 0, values = 0, end = format::kFileHeaderBytes;
    for (const format::BlockInfo& info : whole->blocks()) {
      if (info.offset + format::kBlockHeaderBytes + info.header.stored_bytes > cut) break;
      if (info.header.type == BlockType::kSlices) slices += info.header.rows;
      if (info.header.type == BlockType::kArgs) values += info.header.rows;
      end = info.offset + format::block_extent(info.header.stored_bytes);
    }
    ASSERT_EQ(loaded.slices().size(), slices);
    uint64_t loaded_values = 0;
    for (const ArgColumn& column : loaded.args()) loaded_values += column.rows.size();
    ASSERT_EQ(loaded_values, values);
    ASSERT_EQ(loaded.stats().get(Stat::kBytesTruncated), cut > end ? cut - end : 0);
    for (uint32_t row = 0; row < loaded.slices().size(); ++row) {
      ASSERT_EQ(loaded.slices().start_ns[row], trace.slices().start_ns[row]);
    }
    with_all_slices += slices == trace.slices().size();
  }
  EXPECT_GT(with_all_slices, 0u);
}

TEST(TraceFile, LoadsWhatIsSoundWhenAnyByteIsChanged) {
  const std::vector<uint8_t> bytes = save(make_full_trace(20), {.rows_per_block = 10});
  std::vector<uint8_t> changed = bytes;
  for (size_t at = format::kFileHeaderBytes; at < bytes.size(); at += 5) {
    changed[at] ^= 0x55;
    const auto loaded = load_trace(changed, "changed");
    ASSERT_TRUE(loaded.ok());
    EXPECT_LE(damaged(*loaded), 2u) << at;  // the index may be one more
    changed[at] = bytes[at];
  }
}

TEST(TraceFile, CountsBlocksOfUnknownType) {
  HandMade file;
  file.write_slices(0, {1, 2}).write(BlockBuilder(static_cast<BlockType>(99), 7));
  const Trace trace = file.load();
  EXPECT_EQ(trace.slices().size(), 2u);
  EXPECT_EQ(trace.stats().get(Stat::kBlocksUnknown), 1u);
  EXPECT_EQ(damaged(trace), 0u);
}

TEST(TraceFile, NamesAnUnknownLabelWithAQuestionMark) {
  HandMade file;
  const Trace trace = file.write_slices(0, {1, 2}, 5).load();
  EXPECT_EQ(trace.slice_name(SliceId{1}), "?");
  EXPECT_EQ(skipped(trace), 2u);
}

TEST(TraceFile, MakesATrackThatNoBlockDefines) {
  HandMade file;
  const Trace trace = file.write_slices(0, {1, 2}, 0, 4'000'000'000).load();
  ASSERT_EQ(trace.tracks().size(), 2u);
  EXPECT_EQ(trace.tracks()[1].slice_count, 2u);
  EXPECT_EQ(skipped(trace), 2u);  // the track and its process
}

TEST(TraceFile, SkipsValuesOfSlicesThatAreNotThere) {
  HandMade file;
  file.write_slices(10, {1, 2})
      .write_slices(20, {3})
      .write_args({9, 10, 11, 15, 20, 21}, {1, 2, 3, 4, 5, 6});
  const Trace trace = file.load();
  ASSERT_EQ(trace.args().size(), 1u);
  EXPECT_EQ(trace.args()[0].rows, (std::vector<SliceId>{SliceId{0}, SliceId{1}, SliceId{2}}));
  EXPECT_EQ(trace.args()[0].ints[0], 2);
  EXPECT_EQ(trace.args()[0].ints[2], 5);
  EXPECT_EQ(skipped(trace), 3u);
}

TEST(TraceFile, RefusesBlocksWhoseIdsAreInDisorder) {
  HandMade file;
  file.write_slices(0, {1, 2})
      .write_args({1, 0}, {1, 2})
      .write_slices(1, {3})
      .write_args({1, 1}, {1, 2});
  file.write_slices(uint64_t{1} << 40, {3});
  const Trace trace = file.load();
  EXPECT_EQ(trace.slices().size(), 2u);
  EXPECT_TRUE(trace.args().empty());
  EXPECT_EQ(damaged(trace), 4u);
}

TEST(TraceFile, SortsSlicesThatAreNotInOrder) {
  HandMade file;
  const Trace trace =
      file.write_slices(0, {30, 10}).write_slices(2, {20, 5}).write_args({0, 3}, {30, 5}).load();
  EXPECT_EQ(trace.slices().start_ns, (std::vector<int64_t>{5, 10, 20, 30}));
  EXPECT_EQ(trace.args()[0].rows, (std::vector<SliceId>{SliceId{0}, SliceId{3}}));
  EXPECT_EQ(trace.args()[0].ints[0], 5);
}

TEST(TraceFile, TakesSlicesOfSeveralTracksInOneBlock) {
  HandMade file;
  const std::vector<uint32_t> ids = {1, 2}, tracks = {2, 1, 2}, durs = {1, 1, 1},
                              labels = {0, 0, 0};
  const std::vector<int64_t> starts = {1, 2, 3};
  file.write(BlockBuilder(BlockType::kTracks, 2).add<uint32_t>(Column::kId, ids));
  file.write(BlockBuilder(BlockType::kSlices, 3)
                 .add_one<uint64_t>(Column::kFirstId, 0)
                 .add<uint32_t>(Column::kTrack, tracks)
                 .add<int64_t>(Column::kStart, starts)
                 .add<uint32_t>(Column::kDur, durs)
                 .add<uint32_t>(Column::kLabel, labels));
  const Trace trace = file.load();
  EXPECT_EQ(trace.tracks()[1].slice_count, 1u);
  EXPECT_EQ(trace.tracks()[2].slice_count, 2u);
}

TEST(TraceFile, DoesNotBelieveASmallFileThatClaimsManyRows) {
  HandMade file;
  const std::vector<int64_t> starts(10'000, 7);
  for (uint64_t i = 0; i < 5; ++i) file.write_slices(i * starts.size(), starts);
  const auto trace = load_trace(file.bytes(), "hand-made", {.max_rows = 25'000});
  EXPECT_EQ(trace->slices().size(), 20'000u);
  EXPECT_EQ(damaged(*trace), 3u);
  EXPECT_FALSE(RowBudget::for_file_of(1000).take(uint64_t{1} << 32).ok());
  EXPECT_TRUE(RowBudget::for_file_of(uint64_t{1} << 23).take(uint64_t{1} << 32).ok());
}

TEST(TraceFile, RefusesAFirstIdFarBeyondAllStrings) {
  HandMade file;
  const std::vector<std::string_view> texts = {"late"};
  file.write(BlockBuilder(BlockType::kStrings, 1)
                 .add_one<uint64_t>(Column::kFirstId, 4'000'000'000)
                 .add_text(Column::kText, texts));
  const Trace trace = file.load();
  EXPECT_EQ(damaged(trace), 1u);
}

TEST(TraceFile, TakesTheLastDefinitionOfATrack) {
  HandMade file;
  file.write_slices(0, {1});
  file.write(BlockBuilder(BlockType::kTracks, 1)
                 .add_one<uint32_t>(Column::kId, 0)
                 .add_one<uint32_t>(Column::kName, 1));
  const Trace trace = file.load();
  ASSERT_EQ(trace.tracks().size(), 1u);
  EXPECT_EQ(trace.string(trace.tracks()[0].name), "conv");
  EXPECT_EQ(trace.tracks()[0].slice_count, 1u);
}

TEST(TraceFile, SamplesWithoutTheOptionalColumnsTakeNoMemoryForThem) {
  HandMade file;
  const std::vector<int64_t> times = {10, 20}, weights = {5, 5};
  const std::vector<uint32_t> stacks = {0, 0};
  file.write_stack(17).write(BlockBuilder(BlockType::kSamples, 2)
                                 .set_stream(0)
                                 .add<int64_t>(Column::kTime, times)
                                 .add<uint32_t>(Column::kStack, stacks)
                                 .add<int64_t>(Column::kWeight, weights));
  const Trace trace = file.load();
  ASSERT_EQ(trace.samples().size(), 2u);
  EXPECT_TRUE(trace.samples().cpu_ns.empty());
  EXPECT_TRUE(trace.samples().flags.empty());
  EXPECT_TRUE(trace.samples().count.empty());
  EXPECT_EQ(trace.samples().get_cpu_ns(1), kNoCpuNs);
  EXPECT_EQ(trace.samples().get_flags(1), 0);
  EXPECT_EQ(trace.samples().get_count(1), 1u);
  EXPECT_EQ(trace.stacks()[0].line, 17);
}

TEST(TraceFile, BringsAbsurdSamplesBackToWhatCanBe) {
  HandMade file;
  constexpr int64_t kLeast = INT64_MIN, kMost = INT64_MAX;
  const std::vector<int64_t> times = {kLeast, kMost, 3}, weights = {kLeast, kMost, 7},
                             cpu_ns = {kLeast, kMost, 2}, counts = {kLeast, kMost, 0};
  const std::vector<uint32_t> stacks = {0, 0, 0};
  const std::vector<uint8_t> flags = {255 - kSampleBesideCalls, 0, 2};
  file.write_stack(-5).write(BlockBuilder(BlockType::kSamples, 3)
                                 .set_stream(0)
                                 .add<int64_t>(Column::kTime, times)
                                 .add<uint32_t>(Column::kStack, stacks)
                                 .add<int64_t>(Column::kWeight, weights)
                                 .add<int64_t>(Column::kCpuNs, cpu_ns)
                                 .add<uint8_t>(Column::kFlags, flags)
                                 .add<int64_t>(Column::kCount, counts));
  const Trace trace = file.load();
  const SampleColumns& samples = trace.samples();
  EXPECT_EQ(samples.cpu_ns, (std::vector<int64_t>{kNoCpuNs, TraceBuilder::kMaxDurNs, 2}));
  EXPECT_EQ(samples.count, (std::vector<uint32_t>{1, UINT32_MAX, 1}));
  EXPECT_EQ(samples.flags, flags);
  EXPECT_EQ(samples.time_ns[0], -TraceBuilder::kMaxTimeNs);
  EXPECT_EQ(trace.stacks()[0].line, 0);
}

TEST(TraceFile, ColumnsOfSamplesThatAreTooShortAreDamage) {
  HandMade file;
  const std::vector<int64_t> times = {1, 2, 3}, cpu_ns = {1, 2};
  const std::vector<uint32_t> stacks = {0, 0, 0};
  file.write_stack(1).write(BlockBuilder(BlockType::kSamples, 3)
                                .set_stream(0)
                                .add<int64_t>(Column::kTime, times)
                                .add<uint32_t>(Column::kStack, stacks)
                                .add<int64_t>(Column::kCpuNs, cpu_ns));
  const Trace trace = file.load();
  EXPECT_EQ(trace.samples().size(), 0u);
  EXPECT_EQ(damaged(trace), 1u);
}

}  // namespace
}  // namespace stepscope
