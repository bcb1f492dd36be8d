#include "collect/recorder/recording_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <random>

#include "collect/recorder/recording_for_tests.h"

namespace stepscope {
namespace {

using format::pack_record;
using format::RecordKind;

constexpr uint64_t kTicksPerSecond = 1'000'000'000;

std::unique_ptr<RecordingFile> make_file(const TemporaryFolder& folder, RecordingLimits limits,
                                         Definitions& definitions) {
  RecordingIdentity identity;
  identity.folder = folder.path();
  identity.file_id = 99;
  identity.pid = 1234;
  identity.ticks_per_second = kTicksPerSecond;
  Result<std::unique_ptr<RecordingFile>> file =
      RecordingFile::create(identity, limits, definitions);
  EXPECT_TRUE(file.ok()) << file.status().message();
  const Status status = (*file)->open("/the/pool", read_clocks(kTicksPerSecond));
  EXPECT_TRUE(status.ok()) << status.message();
  return std::move(*file);
}

// Numbered records that no codec makes small.
class Numbered {
 public:
  explicit Numbered(uint32_t per_block) : words_(per_block) {}

  Status write(RecordingFile& file) {
    for (uint32_t i = 0; i < words_.size(); ++i) {
      words_[i] = pack_record(RecordKind::kInstant, static_cast<uint32_t>(next_ + i),
                              static_cast<uint32_t>(random_()));
    }
    RecordStretch stretch;
    stretch.stream = 1;
    stretch.first_word = next_;
    stretch.words = {words_};
    const Status status = file.write_records(stretch);
    if (status) next_ += words_.size();
    return status;
  }
  uint64_t written() const { return next_; }

 private:
  std::vector<uint64_t> words_;
  uint64_t next_ = 0;
  std::mt19937 random_{1};
};

std::vector<RecordedFile> read_segments(const TemporaryFolder& folder) {
  std::vector<RecordedFile> segments;
  for (const std::string& path : folder.files(".sscope")) segments.push_back(read_recorded(path));
  std::sort(segments.begin(), segments.end(), [](const RecordedFile& a, const RecordedFile& b) {
    return std::stoi(a.metadata.at("stepscope.segment")) <
           std::stoi(b.metadata.at("stepscope.segment"));
  });
  return segments;
}

// The records of the segments from `first` on, without a gap; the result is where they end.
uint64_t check_records(const std::vector<RecordedFile>& segments, uint64_t first) {
  uint64_t next = first;
  for (const RecordedFile& segment : segments) {
    for (const RecordedBlock& block : segment.records) {
      EXPECT_EQ(block.first_word, next);
      for (const uint64_t word : block.words) {
        EXPECT_EQ(format::unpack_record(word).value, static_cast<uint32_t>(next++));
      }
    }
  }
  return next;
}

uint64_t total_bytes(const TemporaryFolder& folder) {
  uint64_t bytes = 0;
  for (const std::string& path : folder.files()) bytes += std::filesystem::file_size(path);
  return bytes;
}

// As long as it lives every write to a file fails, as on a full disk; files can still be made.
class FullDisk {
 public:
  FullDisk() {
    before_signal_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_signal_);
  }

 private:
  rlimit before_{};
  void (*before_signal_)(int) = nullptr;
};

TEST(RecordingFile, SaysWhoseItIsAndWhetherItWasClosed) {
  const TemporaryFolder folder;
  Definitions definitions;
  const auto file = make_file(folder, {}, definitions);
  EXPECT_EQ(file->stem(), "1234");
  EXPECT_EQ(file->path(), folder.path() + "/1234.sscope");
  RecordedFile read = read_recorded(file->path());
  EXPECT_EQ(read.file_id, 99u);
  EXPECT_EQ(read.metadata.at("stepscope.pid"), "1234");
  EXPECT_EQ(read.metadata.at("stepscope.segment"), "0");
  EXPECT_EQ(read.metadata.at("stepscope.pool"), "/the/pool");
  EXPECT_FALSE(read.metadata.contains("stepscope.closed"));
  EXPECT_EQ(read.clock_readings, 1u);
  EXPECT_TRUE(file->close({"something was lost"}).ok());
  read = read_recorded(file->path());
  EXPECT_EQ(read.metadata.at("stepscope.closed"), "1");
  EXPECT_EQ(read.notes, std::vector<std::string>{"something was lost"});
}

TEST(RecordingFile, ASecondOneOfTheSameProcessHasAnotherName) {
  const TemporaryFolder folder;
  Definitions definitions;
  const auto first = make_file(folder, {}, definitions);
  const auto second = make_file(folder, {}, definitions);
  EXPECT_EQ(second->stem(), "1234-2");
  EXPECT_TRUE(first->close({}).ok());
  EXPECT_TRUE(second->close({}).ok());
  const auto third = make_file(folder, {}, definitions);
  EXPECT_EQ(third->path(), folder.path() + "/1234-3.sscope");
}

TEST(RecordingFile, WritesOnlyTheDefinitionsThatItLacks) {
  const TemporaryFolder folder;
  Definitions definitions;
  const uint32_t before = definitions.label("before", "", 0);
  const auto file = make_file(folder, {}, definitions);
  const uint32_t after = definitions.label("after", "", 0);
  EXPECT_FALSE(read_recorded(file->path()).labels.contains(after));
  EXPECT_TRUE(file->write_definitions().ok());
  const auto bytes = std::filesystem::file_size(file->path());
  EXPECT_TRUE(file->write_definitions().ok());
  EXPECT_EQ(std::filesystem::file_size(file->path()), bytes);
  const RecordedFile read = read_recorded(file->path());
  EXPECT_EQ(read.name_of_label(before), "before");
  EXPECT_EQ(read.name_of_label(after), "after");
}

TEST(RecordingFile, RotatesIntoWholeFilesWithAllDefinitionsEach) {
  const TemporaryFolder folder;
  Definitions definitions;
  const auto file = make_file(folder, {.segment_bytes = 100'000}, definitions);
  Numbered numbered(2000);
  std::vector<uint32_t> labels;
  for (int i = 0; i < 100; ++i) {
    labels.push_back(definitions.label("label " + std::to_string(i), "", 0));
    ASSERT_TRUE(file->write_definitions().ok());
    ASSERT_TRUE(numbered.write(*file).ok());
  }
  ASSERT_TRUE(file->close({}).ok());
  const std::vector<RecordedFile> segments = read_segments(folder);
  ASSERT_GT(segments.size(), 5u);
  EXPECT_EQ(check_records(segments, 0), numbered.written());
  size_t blocks = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    EXPECT_EQ(segments[i].file_id, 99u);
    EXPECT_EQ(segments[i].metadata.at("stepscope.segment"), std::to_string(i));
    EXPECT_EQ(segments[i].metadata.contains("stepscope.closed"), i + 1 == segments.size());
    EXPECT_GE(segments[i].clock_readings, 1u);
    blocks += segments[i].records.size();
    for (size_t label = 0; label < blocks; ++label) {
      ASSERT_EQ(segments[i].name_of_label(labels[label]), "label " + std::to_string(label));
    }
  }
}

TEST(RecordingFile, ARingStaysBelowItsLimitAndKeepsTheNewest) {
  const TemporaryFolder folder;
  Definitions definitions;
  constexpr uint64_t kLimit = 1 << 20;
  const auto file = make_file(folder, {.total_bytes = kLimit}, definitions);
  const uint32_t label = definitions.label("old", "", 0);
  Numbered numbered(1000);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(numbered.write(*file).ok());
    ASSERT_LE(total_bytes(folder), kLimit) << i;
  }
  ASSERT_TRUE(file->close({}).ok());
  EXPECT_GT(total_bytes(folder), kLimit / 2) << "as much as it may";
  const std::vector<RecordedFile> segments = read_segments(folder);
  ASSERT_FALSE(segments.empty());
  EXPECT_EQ(check_records(segments, segments[0].records.at(0).first_word), numbered.written());
  EXPECT_EQ(segments.back().name_of_label(label), "old");
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/1234.sscope")) << "the oldest";
}

TEST(RecordingFile, ASmallRingStaysBelowItsLimitWithTheLargestBlocks) {
  for (uint64_t limit = 1'000'000; limit < 3'000'000; limit += 200'000) {
    const TemporaryFolder folder;
    Definitions definitions;
    const auto file = make_file(folder, {.total_bytes = limit}, definitions);
    Numbered numbered(format::kRowsPerBlock);
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(numbered.write(*file).ok());
      ASSERT_LE(total_bytes(folder), limit) << i;
    }
    const std::vector<RecordedFile> segments = read_segments(folder);
    ASSERT_FALSE(segments.empty());
    EXPECT_EQ(check_records(segments, segments[0].records.at(0).first_word), numbered.written());
  }
}

TEST(RecordingFile, GoesOnAfterADiskThatWasFull) {
  const TemporaryFolder folder;
  Definitions definitions;
  const auto file = make_file(folder, {}, definitions);
  Numbered numbered(1000);
  ASSERT_TRUE(numbered.write(*file).ok());
  const uint32_t label = definitions.label("meanwhile", "", 0);
  bool any = false;
  {
    const FullDisk full;
    for (int i = 0; i < 3; ++i) {
      any |= file->write_definitions().ok();
      any |= numbered.write(*file).ok();
      any |= file->write_clock(read_clocks(kTicksPerSecond)).ok();
    }
  }
  EXPECT_FALSE(any);
  ASSERT_TRUE(file->write_definitions().ok());
  ASSERT_TRUE(numbered.write(*file).ok());
  ASSERT_TRUE(file->close({}).ok());
  const std::vector<RecordedFile> segments = read_segments(folder);
  EXPECT_EQ(check_records(segments, 0), 2000u);
  EXPECT_EQ(segments[0].name_of_label(label), "meanwhile");
}

TEST(RecordingFile, GoesOnWhereTheDiskWasFullAtTheBeginOfASegment) {
  const TemporaryFolder folder;
  Definitions definitions;
  const auto file = make_file(folder, {.segment_bytes = 5'000}, definitions);
  Numbered numbered(1000);
  ASSERT_TRUE(numbered.write(*file).ok());
  bool any = false;
  uint32_t label = 0;
  {
    const FullDisk full;
    any |= numbered.write(*file).ok();
    label = definitions.label("meanwhile", "", 0);
    any |= file->write_clock(read_clocks(kTicksPerSecond)).ok();
    any |= file->write_definitions().ok();
    any |= numbered.write(*file).ok();
  }
  EXPECT_FALSE(any);
  // In the order in which the drain does it.
  ASSERT_TRUE(file->write_clock(read_clocks(kTicksPerSecond)).ok());
  ASSERT_TRUE(file->write_definitions().ok());
  ASSERT_TRUE(numbered.write(*file).ok());
  ASSERT_TRUE(file->close({}).ok());
  const std::vector<RecordedFile> segments = read_segments(folder);
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(check_records(segments, 0), 2000u);
  EXPECT_EQ(segments[1].name_of_label(label), "meanwhile");
  EXPECT_EQ(segments[1].metadata.at("stepscope.segment"), "1");
}

TEST(RecordingFile, SaysThatItWasRemovedMeanwhile) {
  const TemporaryFolder folder;
  Definitions definitions;
  const auto file = make_file(folder, {}, definitions);
  std::filesystem::remove(file->path());
  const Status status = file->close({});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("removed"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace stepscope
