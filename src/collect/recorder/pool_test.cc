#include "collect/recorder/pool.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "base/mapped_file.h"
#include "collect/recorder/recording_for_tests.h"
#include "format/pool_reader.h"

namespace stepscope {
namespace {

using format::ChunkHeader;
using format::kChunkBytes;
using format::kChunksOffset;
using format::kChunkWords;
using format::pack_record;
using format::RecordKind;

constexpr PoolIdentity kIdentity{.file_id = 77, .pid = 1234, .start_time = 5678};

std::unique_ptr<Pool> make_pool(const std::string& folder, uint32_t first, uint32_t max,
                                const std::string& name = "1234.pool") {
  Result<std::unique_ptr<Pool>> pool = Pool::create(folder, name, kIdentity, first, max);
  EXPECT_TRUE(pool.ok()) << pool.status().message();
  return pool ? std::move(*pool) : nullptr;
}

// A chunk as a thread leaves it.
void fill(Pool& pool, uint32_t number) {
  ChunkHeader& chunk = *pool.chunk(number);
  uint64_t* words = Pool::words(&chunk);
  for (uint32_t i = 0; i < kChunkWords; ++i) {
    words[i] = pack_record(RecordKind::kInstant, number, i + 1);
  }
  chunk.stream = number + 1;
  chunk.committed.store(kChunkWords);
  chunk.is_used.store(1);
  chunk.generation.store(2);
}

TEST(Pool, IsAFileThatAReaderUnderstands) {
  const TemporaryFolder folder;
  const auto pool = make_pool(folder.path(), 4, 16);
  EXPECT_EQ(pool->path(), folder.path() + "/1234.pool");
  EXPECT_EQ(pool->chunk_count(), 4u);
  EXPECT_EQ(pool->max_chunks(), 16u);
  EXPECT_EQ(std::filesystem::file_size(pool->path()), kChunksOffset + 4 * kChunkBytes);
  for (uint32_t i = 0; i < 4; ++i) fill(*pool, i);
  const Result<format::PoolContents> read = format::read_pool(pool->path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->file_id, 77u);
  EXPECT_EQ(read->pid, 1234);
  EXPECT_EQ(read->start_time, 5678u);
  EXPECT_EQ(read->dropped, 0u);
  EXPECT_EQ(read->words, 4u * kChunkWords);
  EXPECT_EQ(read->pieces_damaged, 0u);
}

TEST(Pool, GrowsAsFarAsItsMaximumAndKeepsWhatIsInIt) {
  const TemporaryFolder folder;
  const auto pool = make_pool(folder.path(), 2, 7);
  fill(*pool, 1);
  const ChunkHeader* const before = pool->chunk(1);
  Result<uint32_t> grown = pool->grow(3);
  ASSERT_TRUE(grown.ok());
  EXPECT_EQ(*grown, 3u);
  EXPECT_EQ(pool->chunk_count(), 5u);
  grown = pool->grow(100);
  ASSERT_TRUE(grown.ok());
  EXPECT_EQ(*grown, 2u) << "up to the maximum";
  grown = pool->grow(1);
  ASSERT_TRUE(grown.ok());
  EXPECT_EQ(*grown, 0u);
  EXPECT_EQ(std::filesystem::file_size(pool->path()), kChunksOffset + 7 * kChunkBytes);
  EXPECT_EQ(pool->chunk(1), before) << "threads hold pointers into it";
  for (uint32_t i = 0; i < 7; ++i) fill(*pool, i);
  const Result<format::PoolContents> read = format::read_pool(pool->path());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->words, 7u * kChunkWords);
}

TEST(Pool, HasItsSpaceOnDiskBeforeItIsUsed) {
  const TemporaryFolder folder;
  const auto pool = make_pool(folder.path(), 64, 1024);
  struct stat info {};
  ASSERT_EQ(::stat(pool->path().c_str(), &info), 0);
  EXPECT_GE(static_cast<uint64_t>(info.st_blocks) * 512, 64 * kChunkBytes);
}

TEST(Pool, ItsPartsLieInTheFileOneAfterTheOther) {
  const TemporaryFolder folder;
  const auto pool = make_pool(folder.path(), 3, 3);
  const auto* begin = reinterpret_cast<const uint8_t*>(&pool->header());
  const auto offset = [&](const void* part) {
    return static_cast<uint64_t>(static_cast<const uint8_t*>(part) - begin);
  };
  EXPECT_EQ(offset(pool->journal(0)), format::kPoolHeaderBytes);
  EXPECT_EQ(offset(pool->journal(1)), format::kPoolHeaderBytes + format::kJournalBytes);
  EXPECT_LE(offset(pool->journal(1)) + format::kJournalBytes, offset(pool->chunk(0)));
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(offset(pool->chunk(i)), kChunksOffset + i * kChunkBytes);
    EXPECT_EQ(offset(Pool::words(pool->chunk(i)) + kChunkWords),
              kChunksOffset + (i + 1) * kChunkBytes);
  }
  // What is written there is in the file there.
  pool->journal(1)->committed.store(0xABCD);
  const Result<MappedFile> file = MappedFile::open(pool->path());
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(std::memcmp(file->bytes().data() + offset(pool->journal(1)), pool->journal(1), 16), 0);
}

TEST(Pool, ANameThatIsTakenIsLeftAlone) {
  const TemporaryFolder folder;
  const auto first = make_pool(folder.path(), 1, 1);
  fill(*first, 0);
  const auto second = make_pool(folder.path(), 1, 1);
  EXPECT_NE(second->path(), first->path());
  EXPECT_TRUE(second->path().starts_with(folder.path() + "/1234.pool"));
  EXPECT_EQ(format::read_pool(first->path())->words, kChunkWords);
  EXPECT_EQ(format::read_pool(second->path())->words, 0u);
  // Nor is a link followed.
  const std::string target = folder.path() + "/target";
  std::filesystem::create_symlink(target, folder.path() + "/link.pool");
  const auto third = make_pool(folder.path(), 1, 1, "link.pool");
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST(Pool, LiesInATemporaryFolderWhereItsOwnCanNotTakeIt) {
  const TemporaryFolder elsewhere;
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", elsewhere.path().c_str(), 1);
  const auto pool = make_pool("/proc/self", 1, 1);
  if (before == nullptr) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", kept.c_str(), 1);
  }
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(pool->path(), elsewhere.path() + "/1234.pool");
}

TEST(Pool, StaysWritableAfterItIsClosedAndNothingOfThatReachesTheFile) {
  const TemporaryFolder folder;
  const auto pool = make_pool(folder.path(), 2, 4);
  fill(*pool, 0);
  pool->close(Pool::Keep::kYes);
  fill(*pool, 1);
  pool->chunk(0)->committed.store(1);
  pool->close(Pool::Keep::kNo);  // closed already: keeps the file
  const Result<format::PoolContents> read = format::read_pool(folder.path() + "/1234.pool");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->words, kChunkWords);
}

TEST(Pool, IsRemovedWhenNothingIsLeftInIt) {
  const TemporaryFolder folder;
  const auto pool = make_pool(folder.path(), 1, 1);
  EXPECT_EQ(folder.files().size(), 1u);
  pool->close(Pool::Keep::kNo);
  EXPECT_TRUE(folder.files().empty());
  fill(*pool, 0);
}

TEST(Pool, AForkedChildHasNoneOfItsPages) {
  const TemporaryFolder folder;
  const auto pool = make_pool(folder.path(), 1, 1);
  const pid_t child = ::fork();
  if (child == 0) {
    // A page that is not there makes write() fail, where touching it would end the child.
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(2);
    ::_exit(::write(ends[1], &pool->header(), 8) < 0 && errno == EFAULT ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace stepscope
