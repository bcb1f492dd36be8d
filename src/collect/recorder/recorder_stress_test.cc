// The whole recorder under load, for the sanitizers too: threads that write numbered records, come
// and go, and name things, while recordings start and stop. What is in the files is then held
// against what each thread wrote.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "collect/recorder/recorder.h"
#include "collect/recorder/recording_for_tests.h"

namespace stepscope {
namespace {

using format::RecordKind;
using namespace std::chrono_literals;

RecorderOptions quiet(const TemporaryFolder& folder) {
  RecorderOptions options;
  options.folder = folder.path();
  options.system_counters = false;
  return options;
}

struct StressRecord {
  RecordKind kind;
  uint32_t value;
  uint64_t tick;
  std::vector<uint64_t> words;
};

struct ReadStream {
  uint32_t track = 0;
  uint64_t next_word = 0, dropped = 0;
  std::vector<StressRecord> records;
};

// All streams of a file; fails where one has a gap or a record is cut.
std::map<uint32_t, ReadStream> read_streams(const RecordedFile& file) {
  std::map<uint32_t, ReadStream> streams;
  for (const RecordedBlock& block : file.records) {
    ReadStream& stream = streams[block.stream];
    EXPECT_EQ(block.first_word, stream.next_word) << "stream " << block.stream;
    EXPECT_TRUE(file.tracks.contains(block.track)) << "track " << block.track;
    stream.track = block.track;
    stream.next_word += block.words.size();
    stream.dropped += block.dropped;
    uint64_t tick = block.first_tick;
    for (size_t i = 0; i < block.words.size();) {
      const format::Record record = format::unpack_record(block.words[i]);
      const uint32_t following = format::following_words(block.words[i]);
      if (record.kind == RecordKind::kNone || i + 1 + following > block.words.size()) {
        ADD_FAILURE() << "stream " << block.stream << ": no whole record at word " << i;
        break;
      }
      const auto* words = block.words.data() + i + 1;
      tick = record.kind == RecordKind::kClockSync ? words[0] : tick + record.ticks_delta;
      stream.records.push_back({record.kind, record.value, tick, {words, words + following}});
      i += 1 + following;
    }
  }
  return streams;
}

RecordedFile read_only_file(const TemporaryFolder& folder) {
  const std::vector<std::string> files = folder.files();
  EXPECT_EQ(files.size(), 1u) << "one recording and no pool";
  RecordedFile file = files.empty() ? RecordedFile() : read_recorded(files.front());
  EXPECT_TRUE(file.metadata.contains("stepscope.closed"));
  return file;
}

void count(uint32_t counter, uint64_t number) {
  append_record(RecordKind::kCounterI64, counter, &number, 1);
}

uint32_t make_counter(const std::string& name) {
  uint32_t id = 0;
  while (id == 0) id = Recorder::definitions().counter(name, "", "");
  return id;
}

// The numbers of one counter, in one stream.
std::vector<uint64_t> numbers_of(const ReadStream& stream, uint32_t counter) {
  std::vector<uint64_t> numbers;
  for (const StressRecord& record : stream.records) {
    if (record.kind == RecordKind::kCounterI64 && record.value == counter) {
      numbers.push_back(record.words.at(0));
    }
  }
  return numbers;
}

void expect_consecutive(const std::vector<uint64_t>& numbers, const char* what) {
  for (size_t i = 1; i < numbers.size(); ++i) {
    ASSERT_EQ(numbers[i], numbers[i - 1] + 1) << what << " at " << i;
  }
}

TEST(RecorderStress, NothingIsLostOfThreadsThatPause) {
  const TemporaryFolder folder;
  ASSERT_TRUE(Recorder::start(quiet(folder)).ok());
  constexpr uint32_t kThreads = 6, kBursts = 60, kPerBurst = 500;
  std::vector<uint32_t> counters;
  for (uint32_t t = 0; t < kThreads; ++t) counters.push_back(make_counter("n" + std::to_string(t)));
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([counter = counters[t]] {
      for (uint64_t i = 0; i < kBursts * kPerBurst; ++i) {
        count(counter, i);
        if (i % kPerBurst == 0) std::this_thread::sleep_for(1ms);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Recorder::stop().ok());
  const RecordedFile file = read_only_file(folder);
  const auto streams = read_streams(file);
  EXPECT_EQ(streams.size(), kThreads);
  std::set<uint32_t> seen;
  for (const auto& [number, stream] : streams) {
    EXPECT_EQ(stream.dropped, 0u);
    ASSERT_FALSE(stream.records.empty());
    const uint32_t counter = stream.records[0].value;
    EXPECT_TRUE(seen.insert(counter).second);
    const std::vector<uint64_t> numbers = numbers_of(stream, counter);
    ASSERT_EQ(numbers.size(), kBursts * kPerBurst) << "and none of another thread";
    EXPECT_EQ(numbers.size(), stream.records.size());
    EXPECT_EQ(numbers[0], 0u);
    expect_consecutive(numbers, "numbers");
    for (size_t i = 1; i < stream.records.size(); ++i) {
      ASSERT_GE(stream.records[i].tick, stream.records[i - 1].tick);
    }
  }
}

TEST(RecorderStress, ThreadsThatComeAndGoKeepTheirRecordsAndNames) {
  const TemporaryFolder folder;
  ASSERT_TRUE(Recorder::start(quiet(folder)).ok());
  constexpr uint32_t kRounds = 40, kAtOnce = 8, kRecords = 100;
  const uint32_t counter = make_counter("of short threads");
  std::atomic<uint64_t> thread_number{0};
  for (uint32_t round = 0; round < kRounds; ++round) {
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kAtOnce; ++t) {
      threads.emplace_back([&] {
        const uint64_t number = thread_number++;
        for (uint64_t i = 0; i < kRecords; ++i) count(counter, number << 32 | i);
        uint32_t label = 0;
        while (label == 0) {
          label = Recorder::definitions().label("label " + std::to_string(number), "", 0);
        }
        append_record(RecordKind::kInstant, label);
        Recorder::set_thread_name("thread " + std::to_string(number));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  ASSERT_TRUE(Recorder::stop().ok());
  const RecordedFile file = read_only_file(folder);
  const auto streams = read_streams(file);
  EXPECT_EQ(streams.size(), kRounds * kAtOnce);
  std::set<uint64_t> seen;
  for (const auto& [stream_number, stream] : streams) {
    EXPECT_EQ(stream.dropped, 0u);
    const std::vector<uint64_t> numbers = numbers_of(stream, counter);
    ASSERT_EQ(numbers.size(), kRecords);
    const uint64_t number = numbers[0] >> 32;
    EXPECT_TRUE(seen.insert(number).second);
    EXPECT_EQ(numbers[0], number << 32);
    expect_consecutive(numbers, "numbers");
    const StressRecord& last = stream.records.back();
    EXPECT_EQ(file.name_of_label(last.value), "label " + std::to_string(number));
    EXPECT_EQ(file.name_of_track(stream.track), "thread " + std::to_string(number));
  }
}

TEST(RecorderStress, RecordingsStartAndStopWhileThreadsRecord) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  constexpr uint32_t kThreads = 4;
  std::vector<uint32_t> counters;
  for (uint32_t t = 0; t < kThreads; ++t) counters.push_back(make_counter("c" + std::to_string(t)));
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, counter = counters[t]] {
      for (uint64_t i = 0; !is_over; ++i) {
        count(counter, i);
        if (i % 200 == 0) std::this_thread::sleep_for(200us);
      }
    });
  }
  threads.emplace_back([&] {
    for (uint64_t i = 0; !is_over; ++i) {
      std::thread([&, i] {
        for (uint64_t k = 0; k < 10; ++k) count(counters[0], k);
        const uint32_t label =
            Recorder::definitions().label("short " + std::to_string(i % 5000), "", 0);
        append_record(RecordKind::kInstant, label);
      }).join();
    }
  });
  uint64_t records = 0;
  for (int cycle = 0; cycle < 20; ++cycle) {
    const TemporaryFolder folder;
    ASSERT_TRUE(Recorder::start(quiet(folder)).ok());
    EXPECT_FALSE(Recorder::start(quiet(folder)).ok()) << "there is one already";
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + cycle));
    const Status status = Recorder::stop();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_FALSE(Recorder::is_recording());
    const RecordedFile file = read_only_file(folder);
    for (const auto& [number, stream] : read_streams(file)) {
      EXPECT_EQ(stream.dropped, 0u);
      records += stream.records.size();
      for (const uint32_t counter : counters) {
        expect_consecutive(numbers_of(stream, counter), "numbers of a cycle");
      }
      for (const StressRecord& record : stream.records) {
        if (record.kind == RecordKind::kInstant) {
          ASSERT_TRUE(file.labels.contains(record.value)) << "a label that is not in the file";
        }
      }
    }
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(records, 20u * kThreads);
}

TEST(RecorderStress, ATinyPoolLosesRecordsAndCountsEveryOne) {
  for (int round = 0; round < 5; ++round) {
    const TemporaryFolder folder;
    RecorderOptions options = quiet(folder);
    options.max_pool_bytes = options.first_pool_bytes = 64 << 10;
    ASSERT_TRUE(Recorder::start(options).ok());
    constexpr uint32_t kThreads = 8;
    constexpr uint64_t kRecords = 50'000;
    const uint32_t counter = make_counter("tiny");
    std::atomic<uint32_t> ended{0};
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (uint64_t i = 0; i < kRecords; ++i) count(counter, t << 32 | i);
        ++ended;
        // Half of them are there still when the recording is stopped.
        while (t % 2 == 0 && !is_over) std::this_thread::sleep_for(1ms);
      });
    }
    while (ended < kThreads) std::this_thread::sleep_for(1ms);
    for (size_t t = 1; t < kThreads; t += 2) threads[t].join();
    ASSERT_TRUE(Recorder::stop().ok());
    is_over = true;
    for (size_t t = 0; t < kThreads; t += 2) threads[t].join();
    const RecordedFile file = read_only_file(folder);
    const auto streams = read_streams(file);
    EXPECT_EQ(streams.size(), kThreads) << "one that lost all records is told too";
    uint64_t dropped = 0;
    for (const auto& [number, stream] : streams) {
      EXPECT_EQ(stream.records.size() + stream.dropped, kRecords) << "stream " << number;
      dropped += stream.dropped;
      const std::vector<uint64_t> numbers = numbers_of(stream, counter);
      for (size_t i = 1; i < numbers.size(); ++i) ASSERT_GT(numbers[i], numbers[i - 1]);
    }
    EXPECT_GT(dropped, 0u) << "else this shows nothing";
  }
}

TEST(RecorderStress, RecordsOfAllSizesAreWholeAcrossTheEndsOfChunks) {
  const TemporaryFolder folder;
  ASSERT_TRUE(Recorder::start(quiet(folder)).ok());
  constexpr uint32_t kRecords = 20'000;
  const uint32_t counter = make_counter("sizes");
  uint64_t words[3];
  std::thread([&] {
    for (uint32_t i = 0; i < kRecords; ++i) {
      const uint32_t size = i * 7 % 11 % 4;
      for (uint32_t k = 0; k < size; ++k) words[k] = uint64_t{i} * 4 + k;
      if (size == 0) {
        append_record(RecordKind::kStep, i);
      } else if (size == 1 && i % 2 == 0) {
        append_record(RecordKind::kCounterF64, counter, words, 1);
      } else {
        append_record(RecordKind::kExtended, format::pack_extended(9, size), words, size);
      }
      if (i % 1000 == 0) std::this_thread::sleep_for(1ms);
    }
  }).join();
  ASSERT_TRUE(Recorder::stop().ok());
  const auto streams = read_streams(read_only_file(folder));
  ASSERT_EQ(streams.size(), 1u);
  const std::vector<StressRecord>& records = streams.begin()->second.records;
  ASSERT_EQ(records.size(), kRecords);
  for (uint32_t i = 0; i < kRecords; ++i) {
    const uint32_t size = i * 7 % 11 % 4;
    ASSERT_EQ(records[i].words.size(), size) << i;
    for (uint32_t k = 0; k < size; ++k) ASSERT_EQ(records[i].words[k], uint64_t{i} * 4 + k);
    if (size == 0) {
      ASSERT_EQ(records[i].value, i);
    }
  }
}

TEST(RecorderStress, TimesAreRightAfterAPauseBeyond32BitsAndAfterAClockThatWentBack) {
  const TemporaryFolder folder;
  ASSERT_TRUE(Recorder::start(quiet(folder)).ok());
  const uint32_t label = Recorder::definitions().label("tick", "", 0);
  std::vector<std::pair<uint64_t, uint64_t>> around;  // ticks before and after each record
  std::thread([&] {
    // More than a chunk, so that some syncs come at its end.
    for (int i = 0; i < 4000; ++i) {
      if (i > 0 && i % 3 == 1) t_slot->last_tick -= uint64_t{1} << 33;
      if (i > 0 && i % 3 == 2) t_slot->last_tick += uint64_t{1} << 30;
      const uint64_t before = read_ticks();
      append_record(RecordKind::kInstant, label);
      around.emplace_back(before, read_ticks());
    }
  }).join();
  ASSERT_TRUE(Recorder::stop().ok());
  const auto streams = read_streams(read_only_file(folder));
  ASSERT_EQ(streams.size(), 1u);
  size_t at = 0, syncs = 0;
  for (const StressRecord& record : streams.begin()->second.records) {
    if (record.kind == RecordKind::kClockSync) {
      ++syncs;
      continue;
    }
    ASSERT_LT(at, around.size());
    // Those without a tampered last tick count from a synced one.
    ASSERT_GE(record.tick, around[at].first) << at;
    ASSERT_LE(record.tick, around[at].second) << at;
    ++at;
  }
  EXPECT_EQ(at, around.size());
  EXPECT_GT(syncs, 2000u);
}

}  // namespace
}  // namespace stepscope
