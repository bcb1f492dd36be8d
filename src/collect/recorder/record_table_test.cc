// The functions of the C table, held against the words that they leave in the file.
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "collect/recorder/recording_for_tests.h"
#include "collect/stepscope/record.h"

namespace stepscope {
namespace {

using format::RecordKind;

struct ReadRecord {
  RecordKind kind;
  uint32_t value;
  uint64_t tick;
  std::vector<uint64_t> words;
};

// What one thread records.
std::vector<ReadRecord> record(const std::function<void(const StepscopeRecordTable&)>& work) {
  const TemporaryFolder folder;
  const StepscopeRecordTable& table = *stepscope_record_table(STEPSCOPE_RECORD_VERSION);
  StepscopeRecordOptions options{};
  options.bytes = sizeof(options);
  options.no_counters = 1;
  EXPECT_EQ(table.start(folder.path().c_str(), &options, nullptr, 0), 0);
  std::thread([&] { work(table); }).join();
  EXPECT_EQ(table.stop(nullptr, 0), 0);
  std::vector<ReadRecord> records;
  for (const RecordedBlock& block : read_recorded(folder.files().at(0)).records) {
    uint64_t tick = block.first_tick;
    for (size_t i = 0; i < block.words.size();) {
      const format::Record found = format::unpack_record(block.words[i]);
      const auto* words = block.words.data() + i + 1;
      tick = found.kind == RecordKind::kClockSync ? words[0] : tick + found.ticks_delta;
      const uint32_t following = format::following_words(block.words[i]);
      if (found.kind != RecordKind::kClockSync && found.kind != RecordKind::kThreadName) {
        records.push_back({found.kind, found.value, tick, {words, words + following}});
      }
      i += 1 + following;
    }
  }
  return records;
}

void expect_extended(const ReadRecord& record, uint32_t subtype,
                     const std::vector<uint64_t>& words) {
  EXPECT_EQ(record.kind, RecordKind::kExtended);
  EXPECT_EQ(format::extended_subtype(record.value), subtype);
  EXPECT_EQ(record.words, words);
}

TEST(RecordTable, DetailsFollowTheirScopeAtTheSameMoment) {
  std::vector<uint64_t> most(255);
  for (uint64_t i = 0; i < most.size(); ++i) most[i] = i << 40 | i;
  const auto records = record([&](const StepscopeRecordTable& table) {
    const uint64_t words[2] = {7, ~uint64_t{0}};
    table.begin(table.intern("mm", 2, "cpu_op", 6, STEPSCOPE_OPERATOR));
    table.attach(STEPSCOPE_OPERATOR_DETAIL, words, 2);
    table.attach(STEPSCOPE_INPUTS_DETAIL, most.data(), 255);
    table.attach(STEPSCOPE_INPUTS_DETAIL, nullptr, 0);
    table.end(0);
  });
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[0].kind, RecordKind::kBegin);
  expect_extended(records[1], 6, {7, ~uint64_t{0}});
  expect_extended(records[2], 7, most);
  expect_extended(records[3], 7, {});
  EXPECT_EQ(records[1].tick, records[0].tick);
  EXPECT_EQ(records[3].tick, records[0].tick);
  EXPECT_GT(records[4].tick, records[0].tick);
}

TEST(RecordTable, AScopeAndItsDetailsMayComeInOneCall) {
  uint32_t label = 0;
  const auto records = record([&](const StepscopeRecordTable& table) {
    label = table.intern("mm", 2, "cpu_op", 6, STEPSCOPE_OPERATOR);
    const uint64_t words[2] = {7, 8};
    table.begin_with(label, STEPSCOPE_OPERATOR_DETAIL, words, 2);  // the thread's first record
  });
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].kind, RecordKind::kBegin);
  EXPECT_EQ(records[0].value, label);
  expect_extended(records[1], 6, {7, 8});
  EXPECT_EQ(records[1].tick, records[0].tick);
}

TEST(RecordTable, MoreDetailsThanARecordTakesAreLeftOut) {
  const std::vector<uint64_t> words(256);
  const auto records = record([&](const StepscopeRecordTable& table) {
    table.begin(table.intern("mm", 2, "", 0, STEPSCOPE_OPERATOR));
    table.attach(STEPSCOPE_INPUTS_DETAIL, words.data(), 256);
    table.end(0);
  });
  EXPECT_EQ(records.size(), 2u);
}

TEST(RecordTable, DetailsOfNothingAreLeftOut) {
  const uint64_t word = 1;
  const auto records = record([&](const StepscopeRecordTable& table) {
    table.attach(STEPSCOPE_OPERATOR_DETAIL, &word, 1);  // this thread has recorded nothing yet
  });
  EXPECT_TRUE(records.empty());
  stepscope_record_table(STEPSCOPE_RECORD_VERSION)
      ->attach(6, &word, 1);  // nor is there a recording
}

TEST(RecordTable, DetailsAreWholeAndAtTheirMomentAcrossTheEndsOfChunks) {
  constexpr uint64_t kScopes = 300;  // of 250 words: some 40 chunks
  const auto records = record([&](const StepscopeRecordTable& table) {
    const uint32_t label = table.intern("mm", 2, "", 0, STEPSCOPE_OPERATOR);
    for (uint64_t i = 0; i < kScopes; ++i) {
      const std::vector<uint64_t> words(250, i);
      table.begin(label);
      table.attach(STEPSCOPE_INPUTS_DETAIL, words.data(), 250);
      table.end(label);
    }
  });
  ASSERT_EQ(records.size(), 3 * kScopes);
  for (uint64_t i = 0; i < kScopes; ++i) {
    expect_extended(records[3 * i + 1], 7, std::vector<uint64_t>(250, i));
    ASSERT_EQ(records[3 * i + 1].tick, records[3 * i].tick);
  }
}

TEST(RecordTable, AsynchronousScopesAreToldByTheirId) {
  uint32_t label = 0;
  const auto records = record([&](const StepscopeRecordTable& table) {
    label = table.intern("fetch", 5, "", 0, STEPSCOPE_ANNOTATION);
    table.begin_async(label, 0xABCDEF0123456789);
    table.end_async(0xABCDEF0123456789);
  });
  ASSERT_EQ(records.size(), 2u);
  expect_extended(records[0], 8, {0xABCDEF0123456789, label});
  expect_extended(records[1], 9, {0xABCDEF0123456789});
}

TEST(RecordTable, MemoryIsTakenOrGivenBackBySign) {
  const auto records = record([](const StepscopeRecordTable& table) {
    table.memory(0xA0, 64, 0, -1, 100, 200);
    table.memory(0xA0, -64, 1, 3, 36, 200);
    table.memory(0xA0, INT64_MIN, 0, -1, -1, -1);
  });
  ASSERT_EQ(records.size(), 3u);
  expect_extended(records[0], 1, {0xA0, 64, 0xFFFFFFFF, 100, 200});
  expect_extended(records[1], 2, {0xA0, 64, uint64_t{1} << 32 | 3, 36, 200});
  expect_extended(records[2], 2, {0xA0, uint64_t{1} << 63, 0xFFFFFFFF, ~uint64_t{0}, ~uint64_t{0}});
}

}  // namespace
}  // namespace stepscope
