#include "trace/record_decoder.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <optional>
#include <string>

#include "base/byte_sink.h"
#include "format/block_writer.h"
#include "format/pool_layout.h"
#include "trace/clock_table.h"
#include "trace/trace_file.h"

namespace stepscope {
namespace {

using format::BlockBuilder;
using format::BlockType;
using format::Column;
using format::ExtendedRecord;
using format::pack_record;
using format::RecordKind;
using enum format::RecordKind;

// A recording: labels a, b, c (0, 1, 2), track 0 a thread, track 1 a counter, a tick is 1 ns.
class Recording : public testing::Test {
 protected:
  Recording() {
    const std::vector<std::string_view> texts = {"", "a", "b", "c", "main"};
    const std::vector<uint32_t> names = {1, 2, 3}, ids = {0, 1};
    const std::vector<uint8_t> kinds = {0, 3};
    write(BlockBuilder(BlockType::kStrings, 5)
              .add_one<uint64_t>(Column::kFirstId, 0)
              .add_text(Column::kText, texts));
    write(BlockBuilder(BlockType::kLabels, 3)
              .add_one<uint64_t>(Column::kFirstId, 0)
              .add<uint32_t>(Column::kName, names));
    write(BlockBuilder(BlockType::kProcesses, 1).add_one<uint32_t>(Column::kId, 0));
    write(BlockBuilder(BlockType::kTracks, 2)
              .add<uint32_t>(Column::kId, ids)
              .add<uint8_t>(Column::kKind, kinds));
  }

  void write(const BlockBuilder& block) { ASSERT_TRUE(writer_->write(block).ok()); }

  void write_records(const std::vector<uint64_t>& words, uint64_t first_tick = 0,
                     uint32_t context = 0, uint64_t dropped = 0, uint32_t stream = 7) {
    std::vector<uint32_t> lower, upper;
    for (const uint64_t word : words) {
      lower.push_back(format::lower_half(word));
      upper.push_back(format::upper_half(word));
    }
    write(BlockBuilder(BlockType::kRecords, static_cast<uint32_t>(words.size()))
              .set_stream(stream)
              .add_one<uint64_t>(Column::kFirstTick, first_tick)
              .add_one<uint32_t>(Column::kTrack, 0)
              .add_one<uint32_t>(Column::kContext, context)
              .add_one<uint64_t>(Column::kDropped, dropped)
              .add<uint32_t>(Column::kTicks, lower)
              .add<uint32_t>(Column::kPayload, upper));
  }

  void load() {
    auto trace = load_trace(sink_.bytes(), "recording");
    ASSERT_TRUE(trace.ok()) << trace.status().message();
    trace_.emplace(std::move(*trace));
  }

  // "a 0+10, b 2+3": the slices of a track in order.
  std::string slices(size_t track = 0) const {
    std::string text;
    const Track& t = trace_->tracks()[track];
    for (uint32_t row = t.first_slice; row < t.first_slice + t.slice_count; ++row) {
      if (!text.empty()) text += ", ";
      text += trace_->slice_name(SliceId{row});
      text += ' ';
      text += std::to_string(trace_->slices().start_ns[row]);
      text += '+';
      text += std::to_string(trace_->slices().dur_ns[row]);
    }
    return text;
  }
  uint64_t stat(Stat stat) const { return trace_->stats().get(stat); }

  // "a 5, c -1": the slices that have the argument, and its value.
  std::string ints(std::string_view key) const {
    std::string text;
    const ArgColumn* column = trace_->find_args(key, ArgType::kInt);
    for (size_t i = 0; column != nullptr && i < column->rows.size(); ++i) {
      if (!text.empty()) text += ", ";
      text += trace_->slice_name(column->rows[i]);
      text += ' ';
      text += std::to_string(column->ints[i]);
    }
    return text;
  }
  std::string texts(std::string_view key) const {
    std::string text;
    const ArgColumn* column = trace_->find_args(key, ArgType::kJson);
    for (size_t i = 0; column != nullptr && i < column->rows.size(); ++i) {
      if (!text.empty()) text += ", ";
      text += trace_->slice_name(column->rows[i]);
      text += ' ';
      text += trace_->string(column->string(i));
    }
    return text;
  }

  MemorySink sink_;
  Result<format::BlockWriter> writer_ = format::BlockWriter::create(sink_);
  std::optional<Trace> trace_;
};

TEST_F(Recording, MakesSlicesOfBeginsAndEnds) {
  write_records({pack_record(kBegin, 0, 5), pack_record(kBegin, 1, 2), pack_record(kEnd, 0, 3),
                 pack_record(kInstant, 2, 1), pack_record(kEnd, 0, 4)},
                100);
  load();
  EXPECT_EQ(slices(), "a 105+10, b 107+3, c 111+0");
  EXPECT_EQ(trace_->slices().depth, (std::vector<uint16_t>{0, 1, 1}));
  EXPECT_EQ(stat(Stat::kEventsRead), 5u);
  EXPECT_FALSE(trace_->stats().has_faults());
}

TEST_F(Recording, GoesOnOverBlocks) {
  write_records({pack_record(kBegin, 0, 5)}, 0);
  write_records({pack_record(kBegin, 1, 1), pack_record(kEnd, 0, 1)}, 1000, 0, 0,
                8);  // another thread
  write_records({pack_record(kEnd, 0, 5)}, 5);
  load();
  EXPECT_EQ(slices(), "a 5+5, b 1001+1");
}

TEST_F(Recording, ReadsCountersSyncsAndNames) {
  write_records({pack_record(kCounterI64, 1, 10), static_cast<uint64_t>(-5),
                 pack_record(kCounterF64, 1, 10), std::bit_cast<uint64_t>(0.25),
                 pack_record(kClockSync, 0, 77), 10'000'000'000, pack_record(kThreadName, 4, 0),
                 pack_record(kBegin, 0, 1), pack_record(kEnd, 0, 5)});
  load();
  EXPECT_EQ(trace_->counters().time_ns, (std::vector<int64_t>{10, 20}));
  EXPECT_EQ(trace_->counters().value, (std::vector<double>{-5, 0.25}));
  EXPECT_EQ(slices(), "a 10000000001+5");
  EXPECT_EQ(trace_->string(trace_->tracks()[0].name), "main");
}

TEST_F(Recording, KeepsAStackOfItsOwnForEveryContext) {
  write_records({pack_record(kThreadName, 4, 0), pack_record(kBegin, 0, 10),
                 pack_record(kContext, 5, 1), pack_record(kBegin, 1, 10),
                 pack_record(kContext, 0, 1), pack_record(kEnd, 0, 10), pack_record(kContext, 5, 1),
                 pack_record(kBegin, 2, 1), pack_record(kEnd, 0, 1), pack_record(kEnd, 0, 10)});
  load();
  EXPECT_EQ(slices(0), "a 10+22");
  ASSERT_EQ(trace_->tracks().size(), 3u);
  EXPECT_EQ(slices(2), "b 21+24, c 34+1");
  EXPECT_EQ(trace_->string(trace_->tracks()[2].name), "main, context 5");
  EXPECT_FALSE(trace_->stats().has_faults());
}

TEST_F(Recording, GivesAnEndToTheContextThatItIsIn) {
  write_records({pack_record(kBegin, 0, 10), pack_record(kContext, 5, 1), pack_record(kEnd, 0, 1),
                 pack_record(kContext, 0, 1), pack_record(kEnd, 0, 1)});
  load();
  EXPECT_EQ(slices(), "a 10+4");
  EXPECT_EQ(stat(Stat::kEndsWithoutBegin), 1u);
}

TEST_F(Recording, StartsABlockInTheContextThatItNames) {
  write_records(
      {pack_record(kBegin, 0, 10), pack_record(kContext, 3, 0), pack_record(kBegin, 1, 5)});
  write_records({pack_record(kEnd, 0, 5)}, 15, 3);
  write_records({pack_record(kEnd, 0, 5)}, 20, 0);
  load();
  EXPECT_EQ(slices(0), "a 10+15");
  EXPECT_EQ(slices(2), "b 15+5");
}

TEST_F(Recording, ClosesWhatIsOpenAtTheEnd) {
  write_records({pack_record(kBegin, 0, 10), pack_record(kContext, 5, 0),
                 pack_record(kBegin, 1, 10), pack_record(kInstant, 2, 30)});
  load();
  EXPECT_EQ(slices(0), "a 10+40");
  EXPECT_EQ(slices(2), "b 20+30, c 50+0");
  EXPECT_EQ(stat(Stat::kSlicesOpenAtEnd), 2u);
}

TEST_F(Recording, ClosesTheSliceThatALabelledEndNames) {
  write_records({pack_record(kBegin, 0, 1), pack_record(kBegin, 1, 1), pack_record(kBegin, 2, 1),
                 pack_record(kEnd, 2, 10), pack_record(kEnd, 3, 1), pack_record(kEnd, 1, 1)});
  load();
  EXPECT_EQ(slices(), "a 1+14, b 2+11, c 3+10");
  EXPECT_EQ(stat(Stat::kBeginsWithoutEnd), 1u);  // c
  EXPECT_EQ(stat(Stat::kEndsWithoutBegin), 1u);  // of c, after b took it along
}

TEST_F(Recording, DoesNotTrustNestsAcrossLostRecords) {
  write_records({pack_record(kBegin, 0, 1), pack_record(kBegin, 1, 1), pack_record(kDropped, 9, 3),
                 pack_record(kBegin, 2, 5), pack_record(kEnd, 0, 5), pack_record(kEnd, 0, 5)});
  load();
  EXPECT_EQ(slices(), "a 1+4, b 2+3, c 10+5");
  EXPECT_EQ(stat(Stat::kRecordsDropped), 9u);
  EXPECT_EQ(stat(Stat::kBeginsWithoutEnd), 2u);
  EXPECT_EQ(stat(Stat::kEndsWithoutBegin), 1u);
}

TEST_F(Recording, FindsItsWayBackAfterALossByLabels) {
  write_records({pack_record(kBegin, 0, 1), pack_record(kBegin, 1, 1)});
  write_records({pack_record(kEnd, 1, 10)}, 100, 0, 4);
  load();
  EXPECT_EQ(slices(), "a 1+109, b 2+108");
  EXPECT_EQ(stat(Stat::kRecordsDropped), 4u);
  EXPECT_EQ(stat(Stat::kBeginsWithoutEnd), 1u);
}

TEST_F(Recording, TakesADamagedBlockOfRecordsForALoss) {
  write_records({pack_record(kBegin, 0, 1)});
  const uint64_t from = sink_.size();
  write_records({pack_record(kBegin, 1, 1)}, 10);
  const uint64_t to = sink_.size();
  write_records({pack_record(kEnd, 0, 1)}, 20);
  std::vector<uint8_t> bytes = sink_.bytes();
  bytes[static_cast<size_t>(from + (to - from) / 2)] ^= 1;
  auto trace = load_trace(bytes, "recording");
  ASSERT_TRUE(trace.ok());
  trace_.emplace(std::move(*trace));
  EXPECT_EQ(stat(Stat::kBlocksDamaged), 1u);
  EXPECT_EQ(slices(), "a 1+0");
  EXPECT_EQ(stat(Stat::kEndsWithoutBegin), 1u);
}

TEST_F(Recording, SkipsWhatItDoesNotKnowAndCountsWhatIsCut) {
  write_records({pack_record(kExtended, format::pack_extended(77, 2), 5), pack_record(kBegin, 0, 9),
                 ~uint64_t{0}, pack_record(static_cast<RecordKind>(13), 1, 5), 0,
                 pack_record(kBegin, 0, 5), pack_record(kEnd, 0, 5),
                 pack_record(kExtended, format::pack_extended(77, 200), 5), 1, 2});
  load();
  EXPECT_EQ(slices(), "a 15+5");
  EXPECT_EQ(stat(Stat::kEventsSkipped), 2u);  // kind 13, and the record whose words are cut off
}

TEST_F(Recording, MakesStepsOnATrackOfTheirOwn) {
  write_records({pack_record(kBegin, 0, 10), pack_record(kStep, 1, 90), pack_record(kStep, 2, 50),
                 pack_record(kEnd, 0, 20)},
                1000);
  load();
  EXPECT_EQ(slices(0), "a 1010+160");
  ASSERT_EQ(trace_->tracks().size(), 3u);
  EXPECT_EQ(slices(2), "step 1 1000+100, step 2 1100+50");
  EXPECT_EQ(trace_->labels()[trace_->slices().label.back()].kind, SliceKind::kStep);
  EXPECT_EQ(stat(Stat::kSlicesOverlapping), 0u);
}

TEST_F(Recording, NamesUnknownLabelsAndCounters) {
  write_records({pack_record(kInstant, 99, 1), pack_record(kCounterI64, 99, 1), 5});
  load();
  EXPECT_EQ(slices(), "? 1+0");
  EXPECT_GE(stat(Stat::kValuesSkipped), 2u);
}

TEST_F(Recording, TellsTimeByTheClockTriples) {
  const std::vector<uint64_t> ticks = {1000, 3000};
  const std::vector<int64_t> monotonic = {50'000, 51'000},
                             realtime = {1'000'050'000, 1'000'051'000};
  write_records({pack_record(kBegin, 0, 0), pack_record(kEnd, 0, 1000)}, 2000);
  write(BlockBuilder(BlockType::kClock, 2)
            .add<uint64_t>(Column::kTicks, ticks)
            .add<int64_t>(Column::kMonotonicNs, monotonic)
            .add<int64_t>(Column::kRealtimeNs, realtime)
            .add_one<uint64_t>(Column::kTicksPerSecond, 2'000'000'000));
  load();
  EXPECT_EQ(slices(), "a 50500+500");
  EXPECT_EQ(trace_->clock_base_ns(), 1'000'000'000);
}

// A record of the kind `extended` and its words.
std::vector<uint64_t> extended(ExtendedRecord subtype, const std::vector<uint64_t>& words,
                               uint32_t ticks = 0) {
  const uint32_t value =
      format::pack_extended(static_cast<uint32_t>(subtype), static_cast<uint32_t>(words.size()));
  std::vector<uint64_t> record = {pack_record(kExtended, value, ticks)};
  record.insert(record.end(), words.begin(), words.end());
  return record;
}

std::vector<uint64_t> join(const std::vector<std::vector<uint64_t>>& records) {
  std::vector<uint64_t> words;
  for (const auto& record : records) words.insert(words.end(), record.begin(), record.end());
  return words;
}

std::vector<uint64_t> begin(uint32_t label) { return {pack_record(kBegin, label, 1)}; }
std::vector<uint64_t> end() { return {pack_record(kEnd, 0, 1)}; }
std::vector<uint64_t> sequence(uint64_t number) {
  return extended(ExtendedRecord::kOperator, {number, 1});
}
// One input, a truth value that is true.
std::vector<uint64_t> inputs() { return extended(ExtendedRecord::kInputs, {1 | 0x10006ull << 32}); }

TEST_F(Recording, GivesDetailsToTheSliceThatWasJustOpened) {
  write_records(join({begin(0), sequence(5), inputs(), begin(1), sequence(6), end(), end()}));
  load();
  EXPECT_EQ(ints("Sequence number"), "a 5, b 6");
  EXPECT_EQ(texts("Concrete Inputs"), "a [\"True\"]");
  EXPECT_FALSE(trace_->stats().has_faults());
}

TEST_F(Recording, KnowsWhatWasJustOpenedOverTheEndOfABlock) {
  write_records(join({begin(0), sequence(5)}));
  write_records(join({inputs(), end()}), 1);
  load();
  EXPECT_EQ(texts("Input type"), "a [\"Scalar\"]");
}

TEST_F(Recording, JoinsInputsThatGoOnInTheNextRecord) {
  write_records(join({begin(0), extended(ExtendedRecord::kInputs, {2 | 0x10006ull << 32}),
                      extended(ExtendedRecord::kInputs, {0x6}), end()}));
  load();
  EXPECT_EQ(texts("Concrete Inputs"), "a [\"True\", \"False\"]");
}

TEST_F(Recording, GivesDetailsToNoSliceAfterAnotherHasEnded) {
  write_records(join({begin(0), begin(1), end(), sequence(5), inputs(), end(), sequence(6)}));
  load();
  EXPECT_EQ(slices(), "a 1+3, b 2+1");
  EXPECT_EQ(ints("Sequence number"), "");
  EXPECT_EQ(texts("Input Dims"), "");
  EXPECT_EQ(stat(Stat::kEventsSkipped), 3u);
}

TEST_F(Recording, GivesDetailsToNoSliceFromBeforeALoss) {
  write_records(join({begin(0), {pack_record(kDropped, 2, 0)}, sequence(5), inputs()}));
  write_records(join({begin(1)}), 10);
  write_records(join({sequence(6), begin(2), sequence(7)}), 20, 0, 3);
  load();
  EXPECT_EQ(ints("Sequence number"), "c 7");
  EXPECT_EQ(texts("Input Dims"), "");
  EXPECT_EQ(stat(Stat::kEventsSkipped), 3u);
}

TEST_F(Recording, SaysWhereOperatorsWereSampled) {
  const std::vector<std::string_view> texts = {"operators are sampled", "sampling"};
  write(BlockBuilder(BlockType::kStrings, 2)
            .add_one<uint64_t>(Column::kFirstId, 5)
            .add_text(Column::kText, texts));
  write(BlockBuilder(BlockType::kLabels, 1)
            .add_one<uint64_t>(Column::kFirstId, 3)
            .add_one<uint32_t>(Column::kName, 5)
            .add_one<uint32_t>(Column::kCategory, 6));
  write_records(join({begin(3), begin(3), end(), end()}));
  load();
  ASSERT_EQ(trace_->stats().notes().size(), 1u);
  EXPECT_NE(trace_->stats().notes()[0].find("sampling"), std::string::npos);
  EXPECT_FALSE(trace_->stats().has_faults());
}

// Labels 3, `scope`, is the program's own; 4 and 5, `enter` and `exit`, are calls.
class Scopes : public Recording {
 protected:
  Scopes() {
    const std::vector<std::string_view> texts = {"scope", "enter", "exit", "user_annotation"};
    const std::vector<uint32_t> names = {5, 6, 7}, categories = {8, 0, 0};
    write(BlockBuilder(BlockType::kStrings, 4)
              .add_one<uint64_t>(Column::kFirstId, 5)
              .add_text(Column::kText, texts));
    write(BlockBuilder(BlockType::kLabels, 3)
              .add_one<uint64_t>(Column::kFirstId, 3)
              .add<uint32_t>(Column::kName, names)
              .add<uint32_t>(Column::kCategory, categories));
  }

  static uint64_t begin(uint32_t label, uint32_t ticks) {
    return pack_record(kBegin, label, ticks);
  }
  static uint64_t end(uint32_t label, uint32_t ticks) {
    return pack_record(kEnd, label + 1, ticks);
  }
};

TEST_F(Scopes, BeginInOneCallAndEndInAnother) {
  write_records({begin(0, 1), begin(4, 1), begin(3, 1), end(4, 1), begin(1, 10), end(1, 10),
                 begin(5, 1), end(3, 1), end(5, 1), begin(2, 1), end(2, 1), end(0, 1)});
  load();
  EXPECT_EQ(slices(), "a 1+29, enter 2+2, scope 3+23, b 14+10, exit 25+2, c 28+1");
  EXPECT_EQ(trace_->slices().depth, (std::vector<uint16_t>{0, 1, 1, 2, 1, 1}));
  EXPECT_FALSE(trace_->stats().has_faults());
}

TEST_F(Scopes, OfOneNameEndEachAtItsOwnEnd) {
  write_records({begin(4, 1), begin(3, 1), end(4, 1), begin(4, 1), begin(3, 1), end(4, 1),
                 begin(5, 10), end(3, 1), end(5, 1), begin(5, 10), end(3, 1), end(5, 1)});
  load();
  EXPECT_EQ(slices(), "enter 1+2, scope 2+27, enter 4+2, scope 5+12, exit 16+2, exit 28+2");
  EXPECT_FALSE(trace_->stats().has_faults());
}

TEST_F(Scopes, WithoutAnEndLastUntilTheEndOfTheRecording) {
  write_records(
      {begin(0, 1), begin(4, 1), begin(3, 1), end(4, 1), end(0, 1), begin(1, 1), end(1, 10)});
  load();
  EXPECT_EQ(slices(), "a 1+4, enter 2+2, scope 3+13, b 6+10");
  EXPECT_EQ(stat(Stat::kSlicesOpenAtEnd), 1u);
}

TEST_F(Scopes, EndWithTheirCallWhereTheirOwnEndMayBeLost) {
  write_records({begin(0, 1), begin(3, 1), pack_record(kDropped, 5, 1), end(0, 10)});
  load();
  EXPECT_EQ(slices(), "a 1+12, scope 2+11");
  EXPECT_EQ(stat(Stat::kBeginsWithoutEnd), 1u);
}

TEST_F(Scopes, UnderAnyNumberOfCallsEndInALimitedTime) {
  constexpr size_t kCount = 100'000;
  std::vector<uint64_t> words(kCount, begin(3, 1));
  words.insert(words.end(), kCount, begin(4, 1));
  words.insert(words.end(), kCount, end(3, 1));
  write_records(words);
  load();
  EXPECT_EQ(trace_->slices().size(), 2 * kCount);
  EXPECT_EQ(stat(Stat::kBeginsWithoutEnd), kCount) << "the calls, which were too many to go on";
}

TEST_F(Recording, JoinsTheEndsOfAsynchronousSlicesOverThreads) {
  write_records(join({begin(0), extended(ExtendedRecord::kAsyncBegin, {77, 1}, 10), end()}));
  write_records(extended(ExtendedRecord::kAsyncEnd, {77}, 100), 0, 0, 0, 8);
  load();
  EXPECT_EQ(slices(0), "a 1+11");
  ASSERT_EQ(trace_->tracks().size(), 3u);
  EXPECT_EQ(slices(2), "b 11+89");
  EXPECT_FALSE(trace_->stats().has_faults());
}

TEST_F(Recording, ReadsMemoryWithAndWithoutTheAllocatorsTotals) {
  const uint64_t cuda_1 = uint64_t{1} << 32 | 1, cpu = uint32_t(-1);
  write_records(join({begin(0), extended(ExtendedRecord::kAllocate, {0xA0, 64, cpu, 100, 200}),
                      extended(ExtendedRecord::kFree, {0xA0, 64, cpu, 36, 200}, 5), end(),
                      extended(ExtendedRecord::kAllocate, {0xB0, 8, cuda_1}, 5)}));
  load();
  const AllocationColumns& memory = trace_->allocations();
  EXPECT_EQ(memory.time_ns, (std::vector<int64_t>{1, 6, 12}));
  EXPECT_EQ(memory.bytes, (std::vector<int64_t>{64, -64, 8}));
  EXPECT_EQ(memory.address, (std::vector<uint64_t>{0xA0, 0xA0, 0xB0}));
  EXPECT_EQ(memory.device_type, (std::vector<int16_t>{0, 0, 1}));
  EXPECT_EQ(memory.device_id, (std::vector<int16_t>{-1, -1, 1}));
  EXPECT_EQ(memory.total_allocated_bytes, (std::vector<int64_t>{100, 36, -1}));
  EXPECT_EQ(memory.total_reserved_bytes, (std::vector<int64_t>{200, 200, -1}));
  EXPECT_EQ(memory.slice, (std::vector<SliceId>{SliceId{0}, SliceId{0}, kNoSlice}));
}

TEST_F(Recording, LeavesOutMemoryOfMoreBytesThanThereAre) {
  write_records(extended(ExtendedRecord::kFree, {1, uint64_t{1} << 63, 0}));
  load();
  EXPECT_TRUE(trace_->allocations().time_ns.empty());
  EXPECT_EQ(stat(Stat::kValuesSkipped), 1u);
}

TEST_F(Recording, CountsRecordsThatAreTooShort) {
  struct Case {
    ExtendedRecord type;
    size_t words;  // that it needs
  };
  const std::vector<Case> cases = {
      {ExtendedRecord::kAllocate, 3},  {ExtendedRecord::kFree, 3},
      {ExtendedRecord::kFlowBegin, 1}, {ExtendedRecord::kFlowEnd, 1},
      {ExtendedRecord::kLeftOut, 1},   {ExtendedRecord::kOperator, 2},
      {ExtendedRecord::kAsyncEnd, 1},  {ExtendedRecord::kAsyncBegin, 2}};
  std::vector<std::vector<uint64_t>> records = {begin(0)};
  size_t short_ones = 0;
  for (const Case& c : cases) {
    for (size_t words = 0; words < c.words; ++words, ++short_ones) {
      records.push_back(extended(c.type, std::vector<uint64_t>(words)));
    }
  }
  records.push_back(end());
  write_records(join(records));
  load();
  EXPECT_EQ(stat(Stat::kEventsSkipped), short_ones);
  EXPECT_EQ(slices(), "a 1+1");
  EXPECT_TRUE(trace_->allocations().time_ns.empty());
  EXPECT_TRUE(trace_->args().empty());
}

TEST(ClockTable, LeadsOnBeforeAndAfterItsTriples) {
  ClockTable clock;
  clock.set_ticks_per_second(2'000'000'000);
  EXPECT_EQ(clock.to_ns(4000), 2000);
  clock.add({1000, 100, 0});
  clock.settle();
  EXPECT_EQ(clock.to_ns(3000), 1100);
  EXPECT_EQ(clock.to_ns(500), -150);
  clock.add({2000, 1100, 0});
  clock.add({4000, 2100, 0});
  clock.add({4000, 9, 0});     // the same tick again
  clock.add({5000, 2000, 0});  // time does not go back
  clock.settle();
  EXPECT_EQ(clock.to_ns(1500), 600);
  EXPECT_EQ(clock.to_ns(0), -900);
  EXPECT_EQ(clock.to_ns(3000), 1600);
  EXPECT_EQ(clock.to_ns(6000), 3100);
}

TEST(ClockTable, StaysWithinLimitsWhateverTheTriplesSay) {
  ClockTable clock;
  clock.add({0, INT64_MIN, INT64_MAX});
  clock.add({1, INT64_MAX, INT64_MIN});
  clock.settle();
  EXPECT_EQ(clock.to_ns(UINT64_MAX), TraceBuilder::kMaxTimeNs);
  EXPECT_EQ(clock.to_ns(0), -TraceBuilder::kMaxTimeNs);
  clock.realtime_base_ns();
}

}  // namespace
}  // namespace stepscope
