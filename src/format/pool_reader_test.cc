#include "format/pool_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "format/block_reader.h"
#include "format/column_decoder.h"
#include "format/pool_for_tests.h"
#include "format/record.h"

namespace stepscope::format {
namespace {

constexpr uint64_t kFileId = 0xABCD;

uint64_t begin(uint32_t label) { return pack_record(RecordKind::kBegin, label, 1); }

// "strings 3+2 [a b]; labels 0+1; records 1@10: 2 words": the blocks of a pool.
std::string describe(const PoolContents& contents) {
  const auto reader = BlockReader::open(contents.blocks);
  if (!reader) return reader.status().message();
  ColumnDecoder decoder;
  std::string text;
  for (const BlockInfo& info : reader->blocks()) {
    const auto block = reader->read(info);
    if (!block) return block.status().message();
    if (!text.empty()) text += "; ";
    text += to_string(info.header.type);
    if (info.header.type == BlockType::kRecords) {
      text += " " + std::to_string(info.header.stream) + "@" +
              std::to_string(*decoder.decode_one<uint64_t>(*block, Column::kFirstWord)) + ": " +
              std::to_string(info.header.rows) + " words";
      continue;
    }
    if (block->has(Column::kFirstId)) {
      text += " " + std::to_string(*decoder.decode_one<uint64_t>(*block, Column::kFirstId));
    }
    text += "+" + std::to_string(info.header.rows);
    if (info.header.type != BlockType::kStrings) continue;
    TextColumn texts;
    EXPECT_TRUE(decoder.decode_text(*block, Column::kText, texts).ok());
    for (size_t i = 0; i < texts.size(); ++i) text += " " + std::string(texts[i]);
  }
  return text;
}

PoolContents read(PoolForTests& pool) {
  auto contents = read_pool(pool.bytes(), "pool");
  EXPECT_TRUE(contents.ok()) << contents.status().message();
  return contents ? *std::move(contents) : PoolContents();
}

TEST(PoolReader, GivesDefinitionsThenRecordsInOrder) {
  PoolForTests pool(kFileId, 12, 34);
  pool.journal(0, 4).string(7, "late").label(0, 5);
  pool.journal(1, 2).string(5, "x").string(6, "naïve").track(0, 5, 99);
  pool.chunk({.first_word = 3, .stream = 2}, {begin(0)});
  pool.chunk({.first_word = 9, .stream = 1}, {begin(0), begin(1)});
  pool.chunk({.first_word = 2, .stream = 1}, {begin(0)});
  pool.set_dropped(17);
  const PoolContents contents = read(pool);
  EXPECT_EQ(describe(contents),
            "strings 5+3 x naïve late; labels 0+1; tracks+1; records 1@2: 1 words; "
            "records 1@9: 2 words; records 2@3: 1 words");
  EXPECT_EQ(contents.file_id, kFileId);
  EXPECT_EQ(contents.pid, 12);
  EXPECT_EQ(contents.start_time, 34u);
  EXPECT_EQ(contents.dropped, 17u);
  EXPECT_EQ(contents.words, 4u);
  EXPECT_EQ(contents.pieces_damaged, 0u);
}

TEST(PoolReader, MakesABlockPerRunOfIds) {
  PoolForTests pool(kFileId);
  pool.journal(0, 0).string(3, "a").string(9, "c").string(4, "b").string(3, "again");
  EXPECT_EQ(describe(read(pool)), "strings 3+2 again b; strings 9+1 c");
}

TEST(PoolReader, LeavesOutWhatIsBetweenTwoUses) {
  PoolForTests pool(kFileId);
  pool.journal(0, 3).string(1, "odd");
  pool.chunk({.generation = 7}, {begin(0)});
  pool.chunk({.is_used = 0}, {begin(0)});
  pool.chunk({}, {});
  const PoolContents contents = read(pool);
  EXPECT_EQ(describe(contents), "");
  EXPECT_EQ(contents.pieces_damaged, 0u);
}

TEST(PoolReader, TellsOfDropsOfAChunkWithoutRecords) {
  PoolForTests pool(kFileId);
  pool.chunk({.dropped = 5, .stream = 3}, {});
  EXPECT_EQ(describe(read(pool)), "records 3@0: 0 words");
}

TEST(PoolReader, CountsChunksThatMakeNoSense) {
  PoolForTests pool(kFileId);
  const size_t too_long = pool.chunk({}, {begin(0)});
  pool.chunk({.stream = kNoStream}, {begin(0)});
  pool.chunk({.stream = 4}, {begin(0)});
  pool.chunk({.stream = 5}, std::vector<uint64_t>(kChunkWords, begin(0)));
  store_le(pool.bytes().data() + too_long + offsetof(ChunkHeader, committed), kChunkWords + 1);
  pool.bytes().resize(pool.bytes().size() - 8);
  const PoolContents contents = read(pool);
  EXPECT_EQ(describe(contents), "records 4@0: 1 words");
  EXPECT_EQ(contents.pieces_damaged, 3u);
}

TEST(PoolReader, StopsAtTheFirstBadEntryOfAJournal) {
  PoolForTests pool(kFileId);
  pool.journal(0, 0).string(1, "good").string(2, "bad").string(3, "behind");
  uint8_t* second = pool.bytes().data() + kPoolHeaderBytes + sizeof(JournalHeader) + 48;
  ASSERT_EQ(load_le<uint32_t>(second), 48u);
  for (const uint32_t bytes : {0u, 8u, 44u, 0xFFFFFFF8u}) {
    store_le(second, bytes);
    const PoolContents contents = read(pool);
    EXPECT_EQ(describe(contents), "strings 1+1 good") << bytes;
    EXPECT_EQ(contents.pieces_damaged, 1u);
  }
  store_le(second, 48u);
  store_le(second + offsetof(JournalEntry, text_bytes), 9u);
  EXPECT_EQ(describe(read(pool)), "strings 1+1 good");
}

TEST(PoolReader, ReadsEveryPrefixOfAPool) {
  PoolForTests pool(kFileId);
  pool.journal(0, 0).string(1, "a");
  pool.chunk({}, {begin(0), begin(1)});
  for (size_t bytes = 0; bytes < pool.bytes().size(); bytes += 61) {
    const auto contents = read_pool(std::span(pool.bytes()).first(bytes), "pool");
    EXPECT_EQ(contents.ok(), bytes >= sizeof(PoolHeader)) << bytes;
    const bool is_cut = bytes < kChunksOffset + kChunkHeaderBytes + 2 * sizeof(uint64_t);
    if (contents.ok()) {
      EXPECT_EQ(contents->pieces_damaged > 0, is_cut) << bytes;
    }
  }
}

TEST(PoolReader, RefusesWhatIsNoPoolOfThisVersion) {
  PoolForTests pool(kFileId);
  store_le(pool.bytes().data() + offsetof(PoolHeader, version), uint32_t{2});
  EXPECT_NE(read_pool(pool.bytes(), "p").status().message().find("p: is a pool of version 2"),
            std::string::npos);
  pool.bytes()[0] = 0;
  EXPECT_EQ(read_pool(pool.bytes(), "p").status().message(), "p: is no pool of a recording");
}

class PoolFile : public testing::Test {
 protected:
  PoolFile() {
    std::string name = (std::filesystem::temp_directory_path() / "pool_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = folder_ + "/1.pool";
  }
  ~PoolFile() override { std::filesystem::remove_all(folder_); }
  std::string folder_, path_;
};

TEST_F(PoolFile, IsReadFromDisk) {
  PoolForTests pool(kFileId);
  pool.chunk({}, {begin(0)});
  std::ofstream(path_, std::ios::binary)
      .write(reinterpret_cast<const char*>(pool.bytes().data()),
             static_cast<std::streamsize>(pool.bytes().size()));
  const auto contents = read_pool(path_);
  ASSERT_TRUE(contents.ok());
  EXPECT_EQ(describe(*contents), "records 0@0: 1 words");
}

TEST_F(PoolFile, MustBeARegularFile) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(read_pool(path_).status().message(), path_ + ": is no regular file");
  EXPECT_EQ(read_pool(folder_).status().message(), folder_ + ": is no regular file");
  EXPECT_FALSE(read_pool(folder_ + "/none").ok());
}

// A writer that uses one chunk again and again, as the recorder does; every copy is of one use.
TEST_F(PoolFile, IsNeverACopyOfTwoUsesWhileAProcessWrites) {
  PoolForTests pool(kFileId);
  pool.chunk({.generation = 0}, std::vector<uint64_t>(kChunkWords, begin(0)));
  std::ofstream(path_, std::ios::binary)
      .write(reinterpret_cast<const char*>(pool.bytes().data()),
             static_cast<std::streamsize>(pool.bytes().size()));
  const int descriptor = open(path_.c_str(), O_RDWR);
  void* memory =
      mmap(nullptr, pool.bytes().size(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* chunk = reinterpret_cast<ChunkHeader*>(static_cast<uint8_t*>(memory) + kChunksOffset);
  auto* words = reinterpret_cast<std::atomic<uint64_t>*>(chunk + 1);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint32_t use = 1; !stop.load(std::memory_order_relaxed); ++use) {
      chunk->generation.fetch_add(1, std::memory_order_acq_rel);
      chunk->committed.store(0, std::memory_order_release);
      chunk->generation.fetch_add(1, std::memory_order_release);
      for (uint32_t i = 0; i < kChunkWords; ++i) {
        words[i].store(begin(use % kRecordValueMax), std::memory_order_relaxed);
        chunk->committed.store(i + 1, std::memory_order_release);
      }
    }
  });
  int copies = 0;
  for (int attempt = 0; attempt < 3000 || (copies == 0 && attempt < 300'000); ++attempt) {
    const auto contents = read_pool(path_);
    ASSERT_TRUE(contents.ok());
    ASSERT_EQ(contents->pieces_damaged, 0u);
    if (contents->words == 0) continue;
    ++copies;
    const auto reader = BlockReader::open(contents->blocks);
    const auto block = reader->read(reader->blocks()[0]);
    ColumnDecoder decoder;
    std::vector<uint32_t> payload;
    ASSERT_TRUE(decoder.decode_rows(*block, Column::kPayload, payload).ok());
    ASSERT_EQ(std::count(payload.begin(), payload.end(), payload[0]),
              static_cast<ptrdiff_t>(payload.size()));
  }
  stop = true;
  writer.join();
  EXPECT_GT(copies, 0);
  munmap(memory, pool.bytes().size());
  close(descriptor);
}

bool text_shows_running(const std::string& text, uint64_t start_time) {
  ProcessStat stat;
  return parse_process_stat(text, stat) && shows_running(stat, start_time);
}

TEST(IsRunning, KnowsAProcessByItsStartTime) {
  const std::string rest = " 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 777 1000 5";
  EXPECT_TRUE(text_shows_running("12 (python) S" + rest, 777));
  EXPECT_TRUE(text_shows_running("12 (a ) R 1 (b) S" + rest, 777));
  EXPECT_FALSE(text_shows_running("12 (python) S" + rest, 778));
  EXPECT_TRUE(text_shows_running("12 (python) Z" + rest, 777));  // only its first thread ended
  EXPECT_FALSE(
      text_shows_running("12 (python) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 1000 5", 777));
  EXPECT_FALSE(text_shows_running("12 (python) S 1 1", 777));
  EXPECT_FALSE(shows_running({}, 0));
}

TEST(IsRunning, SeesThisProcessAndNotOneThatHasEnded) {
  std::ifstream file("/proc/self/stat");
  const std::string stat((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string rest = stat.substr(stat.rfind(')') + 2);
  for (int field = 3; field < 22; ++field) rest = rest.substr(rest.find(' ') + 1);
  const uint64_t started = std::stoull(rest);
  EXPECT_TRUE(is_running(getpid(), started));
  EXPECT_FALSE(is_running(getpid(), started + 1));
  EXPECT_FALSE(is_running(-1, started));
  EXPECT_FALSE(is_running(INT32_MAX, started));
}

}  // namespace
}  // namespace stepscope::format
