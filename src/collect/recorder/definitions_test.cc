#include "collect/recorder/definitions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "base/byte_sink.h"
#include "collect/recorder/recording_for_tests.h"

namespace stepscope {
namespace {

using format::JournalEntry;
using format::JournalEntryType;
using format::JournalHeader;

// The journals of a pool, in plain memory.
class TwoJournals {
 public:
  TwoJournals() {
    for (auto& memory : memory_) {
      memory.resize(format::kJournalBytes / sizeof(uint64_t));
      new (memory.data()) JournalHeader;
    }
  }
  JournalHeader* at(uint32_t number) {
    return reinterpret_cast<JournalHeader*>(memory_[number].data());
  }
  struct Read {
    JournalEntry header;
    std::string text;
  };
  std::vector<Read> read(uint32_t number) {
    std::vector<Read> entries;
    const auto* bytes = reinterpret_cast<const uint8_t*>(at(number) + 1);
    const uint32_t end = at(number)->committed.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < end;) {
      Read entry;
      std::memcpy(&entry.header, bytes + i, sizeof(entry.header));
      EXPECT_GE(entry.header.bytes, sizeof(entry.header) + entry.header.text_bytes);
      EXPECT_EQ(entry.header.bytes % 8, 0u);
      if (entry.header.bytes == 0) break;
      entry.text.assign(reinterpret_cast<const char*>(bytes + i + sizeof(entry.header)),
                        entry.header.text_bytes);
      i += entry.header.bytes;
      EXPECT_LE(i, end);
      entries.push_back(std::move(entry));
    }
    return entries;
  }

 private:
  std::array<std::vector<uint64_t>, format::kJournals> memory_;
};

RecordedFile write_all(const Definitions& definitions, uint32_t from, uint32_t to) {
  MemorySink sink;
  Result<format::BlockWriter> writer = format::BlockWriter::create(sink);
  EXPECT_TRUE(writer.ok());
  const Status status = definitions.write(*writer, from, to);
  EXPECT_TRUE(status.ok()) << status.message();
  return RecordedFileReader().read(sink.bytes());
}

// Labels until there is no room; how many got an id.
uint32_t fill(Definitions& definitions, const std::string& prefix) {
  uint32_t made = 0;
  while (definitions.label(prefix + std::to_string(made), "", 0) != 0) ++made;
  return made;
}

TEST(Definitions, TheSameNameHasTheSameIdForEver) {
  Definitions definitions;
  const uint32_t forward = definitions.label("forward", "op", 1);
  const uint32_t backward = definitions.label("backward", "op", 1);
  EXPECT_NE(forward, 0u);
  EXPECT_NE(backward, 0u);
  EXPECT_NE(forward, backward);
  for (int i = 0; i < 2000; ++i) definitions.label("other " + std::to_string(i), "", 0);
  EXPECT_EQ(definitions.label("forward", "op", 1), forward);
  EXPECT_EQ(definitions.label(std::string("back") + "ward", "op", 1), backward);
  EXPECT_EQ(definitions.string_id("forward"), definitions.string_id("forward"));
  EXPECT_EQ(definitions.string_id(""), 0u);
}

TEST(Definitions, LabelsOfAnotherKindOrCategoryAreOthers) {
  Definitions definitions;
  const std::set<uint32_t> ids = {
      definitions.label("x", "", 0),  definitions.label("x", "", 1),  definitions.label("x", "", 2),
      definitions.label("x", "a", 0), definitions.label("x", "b", 0), definitions.label("", "x", 0),
      definitions.label("a", "x", 0),
  };
  EXPECT_EQ(ids.size(), 7u);
  EXPECT_FALSE(ids.contains(0));
}

TEST(Definitions, CountersAreToldApartByNameSeriesAndUnit) {
  Definitions definitions;
  const uint32_t first = definitions.counter("memory", "used", "bytes");
  const std::set<uint32_t> ids = {first, definitions.counter("memory", "free", "bytes"),
                                  definitions.counter("memory", "used", "MB"),
                                  definitions.counter("used", "memory", "bytes")};
  EXPECT_EQ(ids.size(), 4u);
  EXPECT_FALSE(ids.contains(0));
  EXPECT_EQ(definitions.counter("memory", "used", "bytes"), first);
}

TEST(Definitions, EveryThreadIsANewTrackAndKeepsItWhenRenamed) {
  Definitions definitions;
  const uint32_t counter = definitions.counter("c", "", "");
  const uint32_t a = definitions.thread("worker", 7);
  const uint32_t b = definitions.thread("worker", 7);
  EXPECT_EQ((std::set<uint32_t>{counter, a, b, 0u}.size()), 4u);
  definitions.rename_thread(a, "loader", 7);
  EXPECT_GT(definitions.thread("worker", 8), b);
  const RecordedFile file = write_all(definitions, 0, definitions.begin_writing());
  EXPECT_EQ(file.name_of_track(a), "loader");
  EXPECT_EQ(file.name_of_track(b), "worker");
  EXPECT_EQ(file.tracks.at(a).number, 7);
}

TEST(Definitions, LongNamesAreCutAndStillFound) {
  Definitions definitions;
  const std::string long_name(100'000, 'n');
  const uint32_t id = definitions.label(long_name, "", 0);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(definitions.label(long_name, "", 0), id);
  const RecordedFile file = write_all(definitions, 0, definitions.begin_writing());
  EXPECT_EQ(file.name_of_label(id), long_name.substr(0, 4096));
}

TEST(Definitions, AreInTheJournalBeforeTheIdIsReturned) {
  Definitions definitions;
  const uint32_t before = definitions.label("before the recording", "", 0);
  TwoJournals memory;
  Journals journals(memory.at(0), memory.at(1));
  definitions.attach(&journals);
  EXPECT_EQ(definitions.label("before the recording", "", 0), before);
  EXPECT_TRUE(memory.read(0).empty()) << "the file has it";
  const uint32_t id = definitions.label("mm", "op", 3);
  std::vector<TwoJournals::Read> entries = memory.read(0);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].header.type, JournalEntryType::kString);
  EXPECT_EQ(entries[0].text, "mm");
  EXPECT_EQ(entries[1].text, "op");
  EXPECT_EQ(entries[2].header.type, JournalEntryType::kLabel);
  EXPECT_EQ(entries[2].header.id, id);
  EXPECT_EQ(entries[2].header.kind, 3);
  EXPECT_EQ(entries[2].header.name, entries[0].header.id);
  EXPECT_EQ(entries[2].header.category, entries[1].header.id);
  const uint32_t track = definitions.thread("worker", 42);
  entries = memory.read(0);
  ASSERT_EQ(entries.size(), 5u);
  EXPECT_EQ(entries[4].header.type, JournalEntryType::kTrack);
  EXPECT_EQ(entries[4].header.id, track);
  EXPECT_EQ(entries[4].header.number, 42);
  definitions.attach(nullptr);
  definitions.label("after the recording", "", 0);
  EXPECT_EQ(memory.read(0).size(), 5u);
}

TEST(Definitions, AFullJournalGivesNoIdAndLaterOneAgain) {
  Definitions definitions;
  TwoJournals memory;
  Journals journals(memory.at(0), memory.at(1));
  definitions.attach(&journals);
  EXPECT_FALSE(definitions.wants_drain());
  const uint32_t made = fill(definitions, "a");
  EXPECT_GT(made, 1000u);
  EXPECT_TRUE(definitions.wants_drain());
  EXPECT_EQ(definitions.counter("new", "", ""), 0u);
  for (int i = 0; definitions.string_id("s" + std::to_string(i)) != 0;) ++i;
  for (int64_t tid = 1; tid < 100; ++tid) {
    EXPECT_NE(definitions.thread("thread " + std::to_string(tid), tid), 0u)
        << "there is room left for threads that begin";
  }
  while (definitions.thread("one more", 1) != 0) continue;
  const uint64_t generation = memory.at(0)->generation.load();

  const uint32_t count = definitions.begin_writing();
  const uint32_t meanwhile = definitions.label("meanwhile", "", 0);
  EXPECT_NE(meanwhile, 0u) << "the other journal's turn has come";
  EXPECT_EQ(memory.read(1).back().header.id, meanwhile);
  EXPECT_GT(memory.read(0).size(), made) << "kept until it is written";
  EXPECT_EQ(write_all(definitions, 0, count).labels.size(), made + 1);
  definitions.written();
  EXPECT_TRUE(memory.read(0).empty());
  EXPECT_EQ(memory.at(0)->generation.load(), generation + 2);
  EXPECT_EQ(memory.read(1).size(), 2u) << "what came meanwhile is not written yet";
  EXPECT_EQ(write_all(definitions, 0, definitions.begin_writing()).name_of_label(meanwhile),
            "meanwhile");
}

TEST(Definitions, JournalsTakeTurnsForEver) {
  Definitions definitions;
  TwoJournals memory;
  Journals journals(memory.at(0), memory.at(1));
  definitions.attach(&journals);
  for (int round = 0; round < 6; ++round) {
    ASSERT_GT(fill(definitions, "round " + std::to_string(round) + " "), 500u) << round;
    definitions.begin_writing();
    definitions.written();
  }
}

TEST(Definitions, JournalsTakeTurnsAgainAfterAWriteThatFailed) {
  Definitions definitions;
  TwoJournals memory;
  Journals journals(memory.at(0), memory.at(1));
  definitions.attach(&journals);
  ASSERT_GT(fill(definitions, "a"), 500u);
  definitions.begin_writing();  // the disk is full: written() is not called
  ASSERT_GT(fill(definitions, "b"), 500u);
  EXPECT_EQ(fill(definitions, "c"), 0u) << "neither journal may be lost";
  for (int round = 0; round < 4; ++round) {
    const uint32_t count = definitions.begin_writing();
    EXPECT_GT(count, 1000u);
    definitions.written();
  }
  EXPECT_GT(fill(definitions, "d"), 500u);
}

TEST(Definitions, WhatIsKnownNeedsNoRoomInTheJournal) {
  Definitions definitions;
  TwoJournals memory;
  Journals journals(memory.at(0), memory.at(1));
  definitions.attach(&journals);
  const uint32_t label = definitions.label("known", "op", 1);
  const uint32_t counter = definitions.counter("known", "op", "B");
  const uint32_t string = definitions.string_id("known");
  fill(definitions, "a");
  for (int i = 0; definitions.string_id("s" + std::to_string(i)) != 0;) ++i;
  EXPECT_EQ(definitions.label("known", "op", 1), label);
  EXPECT_EQ(definitions.counter("known", "op", "B"), counter);
  EXPECT_EQ(definitions.string_id("known"), string);
  EXPECT_EQ(definitions.label("known", "B", 1), 0u) << "of known strings, but new";
  EXPECT_EQ(definitions.counter("op", "known", "B"), 0u);
}

TEST(Definitions, LongNamesInGreatNumberFitIntoBlocks) {
  Definitions definitions;
  constexpr uint32_t kLabels = 17'000;
  const std::string rest(4096, 'x');
  for (uint32_t i = 0; i < kLabels; ++i) definitions.string_id(std::to_string(i) + rest);
  const RecordedFile file = write_all(definitions, 0, definitions.begin_writing());
  EXPECT_GT(file.strings.size(), kLabels);
}

TEST(Definitions, ACopyForAChildGoesOnWhereTheParentWas) {
  Definitions parent;
  std::vector<uint32_t> labels;
  for (int i = 0; i < 3000; ++i) labels.push_back(parent.label("l" + std::to_string(i), "c", 0));
  const uint32_t counter = parent.counter("n", "s", "u");
  const uint32_t thread = parent.thread("t", 5);
  const uint32_t count = parent.begin_writing();

  Definitions child(parent);
  EXPECT_EQ(child.begin_writing(), count);
  const RecordedFile of_parent = write_all(parent, 0, count), of_child = write_all(child, 0, count);
  EXPECT_EQ(of_child.strings, of_parent.strings);
  EXPECT_EQ(of_child.labels, of_parent.labels);
  EXPECT_EQ(of_child.tracks, of_parent.tracks);
  for (int i = 0; i < 3000; i += 7) {
    EXPECT_EQ(child.label("l" + std::to_string(i), "c", 0), labels[static_cast<size_t>(i)]);
  }
  EXPECT_EQ(child.counter("n", "s", "u"), counter);
  EXPECT_GT(child.thread("t", 5), thread);
  EXPECT_GT(child.label("of the child", "", 0), labels.back());
  EXPECT_EQ(parent.begin_writing(), count) << "the parent's is left alone";
}

TEST(Definitions, MoreThanAHundredThousandReadBackAsTheyWereMade) {
  Definitions definitions;
  constexpr uint32_t kLabels = 60'000;
  std::vector<uint32_t> ids;
  for (uint32_t i = 0; i < kLabels; ++i) {
    ids.push_back(definitions.label("name " + std::to_string(i), i % 2 ? "odd" : "even", i % 5));
  }
  const uint32_t count = definitions.begin_writing();
  EXPECT_GT(count, 100'000u);
  const RecordedFile file = write_all(definitions, 0, count);
  for (uint32_t i = 0; i < kLabels; ++i) {
    const RecordedLabel& label = file.labels.at(ids[i]);
    ASSERT_EQ(file.strings.at(label.name), "name " + std::to_string(i));
    ASSERT_EQ(file.strings.at(label.category), i % 2 ? "odd" : "even");
    ASSERT_EQ(label.kind, i % 5);
  }
  EXPECT_EQ(file.name_of_label(0), "(name not recorded)");
  // In two parts, as a drain does; the second stands on the first.
  MemorySink sink;
  Result<format::BlockWriter> writer = format::BlockWriter::create(sink);
  ASSERT_TRUE(definitions.write(*writer, 0, 1025).ok());
  ASSERT_TRUE(definitions.write(*writer, 1025, count).ok());
  EXPECT_EQ(RecordedFileReader().read(sink.bytes()).labels, file.labels);
}

TEST(Definitions, ThreadsThatAskAtOnceGetTheSameIds) {
  Definitions definitions;
  TwoJournals memory;
  Journals journals(memory.at(0), memory.at(1));
  definitions.attach(&journals);
  constexpr int kThreads = 4, kNames = 300;
  std::array<std::vector<uint32_t>, kThreads> ids, tracks;
  std::atomic<bool> is_over{false};
  std::thread drain([&] {
    while (!is_over) {
      definitions.begin_writing();
      definitions.written();
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kNames; ++i) {
        uint32_t id = 0;
        while (id == 0) id = definitions.label("n" + std::to_string(i), "", 0);
        ids[t].push_back(id);
        uint32_t track = 0;
        while (track == 0) track = definitions.thread("t", static_cast<int64_t>(t));
        tracks[t].push_back(track);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  is_over = true;
  drain.join();
  std::set<uint32_t> all_tracks;
  for (size_t t = 0; t < kThreads; ++t) {
    EXPECT_EQ(ids[t], ids[0]);
    all_tracks.insert(tracks[t].begin(), tracks[t].end());
  }
  EXPECT_EQ(std::set<uint32_t>(ids[0].begin(), ids[0].end()).size(), size_t{kNames});
  EXPECT_EQ(all_tracks.size(), size_t{kThreads * kNames});
  const RecordedFile file = write_all(definitions, 0, definitions.begin_writing());
  for (int i = 0; i < kNames; ++i) {
    EXPECT_EQ(file.name_of_label(ids[0][static_cast<size_t>(i)]), "n" + std::to_string(i));
  }
}

}  // namespace
}  // namespace stepscope
