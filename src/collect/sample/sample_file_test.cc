#include "collect/sample/sample_file.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "format/block_reader.h"
#include "format/column_decoder.h"
#include "format/recording_metadata.h"

namespace stepscope::sample {
namespace {

using format::BlockReader;
using format::BlockType;
using format::Column;

constexpr int64_t kPeriodNs = 10'000'000;

// A disk with room for so many bytes.
class SmallDisk final : public ByteSink {
 public:
  explicit SmallDisk(uint64_t room) : room_(room) {}
  Status append(std::span<const uint8_t> bytes) override {
    if (memory_.size() + bytes.size() <= room_) return memory_.append(bytes);
    (void)memory_.append(bytes.first(static_cast<size_t>(room_ - memory_.size())));
    return Status::error("No space left on device");
  }
  Status truncate(uint64_t size) override { return memory_.truncate(size); }
  uint64_t size() const override { return memory_.size(); }
  const std::vector<uint8_t>& bytes() const { return memory_.bytes(); }

 private:
  MemorySink memory_;
  uint64_t room_;
};

// What a file says, read by the format's own rules.
struct ReadFile {
  std::map<std::string, std::string> metadata;
  std::vector<std::string> strings;
  std::map<uint32_t, std::string> processes, threads;  // "1234 python"
  std::vector<std::string> frames;                     // "work a.py:9"
  std::vector<std::string> stacks;                     // "work:21 < main:3"
  std::vector<std::string> samples;                    // "@10 thread 0: work:21 < main:3, ..."
  std::map<std::string, int64_t> stats;
  std::vector<std::string> notes;
  size_t sample_blocks = 0;
  size_t clock_blocks = 0;
  uint64_t file_id = 0;
  bool is_whole = false;  // without a fault
};

template <typename T>
std::vector<T> rows(const format::BlockView& block, Column column) {
  format::ColumnDecoder decoder;
  std::vector<T> values;
  const Status status = decoder.decode_rows_or(block, column, T{0}, values);
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

std::vector<std::string> texts(const format::BlockView& block, Column column) {
  format::ColumnDecoder decoder;
  format::TextColumn column_texts;
  const Status status = decoder.decode_text(block, column, column_texts);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::string> values;
  for (size_t i = 0; i < column_texts.size(); ++i) values.emplace_back(column_texts[i]);
  return values;
}

void read_block(const format::BlockView& block, ReadFile& file) {
  format::ColumnDecoder decoder;
  const auto first_id = [&] {
    return static_cast<size_t>(*decoder.decode_one<uint64_t>(block, Column::kFirstId));
  };
  switch (block.header().type) {
    case BlockType::kMetadata: {
      const auto keys = texts(block, Column::kKeyText), values = texts(block, Column::kValueText);
      for (size_t i = 0; i < keys.size(); ++i) file.metadata[keys[i]] = values[i];
      break;
    }
    case BlockType::kStrings:
      EXPECT_EQ(first_id(), file.strings.size());
      for (const std::string& text : texts(block, Column::kText)) file.strings.push_back(text);
      break;
    case BlockType::kProcesses:
    case BlockType::kTracks: {
      const auto ids = rows<uint32_t>(block, Column::kId),
                 names = rows<uint32_t>(block, Column::kName);
      const auto numbers = rows<int64_t>(block, Column::kNumber);
      auto& to = block.header().type == BlockType::kTracks ? file.threads : file.processes;
      for (size_t i = 0; i < ids.size(); ++i) {
        to[ids[i]] = std::to_string(numbers[i]) + " " + file.strings.at(names[i]);
      }
      break;
    }
    case BlockType::kFrames: {
      EXPECT_EQ(first_id(), file.frames.size());
      const auto names = rows<uint32_t>(block, Column::kName),
                 files = rows<uint32_t>(block, Column::kFile);
      const auto lines = rows<int32_t>(block, Column::kLine);
      for (size_t i = 0; i < names.size(); ++i) {
        file.frames.push_back(file.strings.at(names[i]) + " " + file.strings.at(files[i]) + ":" +
                              std::to_string(lines[i]));
      }
      break;
    }
    case BlockType::kStacks: {
      EXPECT_EQ(first_id(), file.stacks.size());
      const auto parents = rows<uint32_t>(block, Column::kParent),
                 frames = rows<uint32_t>(block, Column::kFrame);
      const auto lines = rows<int32_t>(block, Column::kLine);
      for (size_t i = 0; i < parents.size(); ++i) {
        const std::string& frame = file.frames.at(frames[i]);
        std::string text = frame.substr(0, frame.find(' ')) + ":" + std::to_string(lines[i]);
        if (parents[i] != SampleFile::kNoStack) text += " < " + file.stacks.at(parents[i]);
        file.stacks.push_back(text);
      }
      break;
    }
    case BlockType::kSamples: {
      ++file.sample_blocks;
      const auto times = rows<int64_t>(block, Column::kTime),
                 weights = rows<int64_t>(block, Column::kWeight),
                 cpu = rows<int64_t>(block, Column::kCpuNs),
                 counts = rows<int64_t>(block, Column::kCount);
      const auto threads = rows<uint32_t>(block, Column::kTrack),
                 stacks = rows<uint32_t>(block, Column::kStack);
      const auto flags = rows<uint8_t>(block, Column::kFlags);
      for (size_t i = 0; i < times.size(); ++i) {
        EXPECT_TRUE(file.threads.contains(threads[i]));
        file.samples.push_back("@" + std::to_string(times[i]) + " thread " +
                               std::to_string(threads[i]) + ": " + file.stacks.at(stacks[i]) +
                               ", " + std::to_string(weights[i]) + " wall, " +
                               std::to_string(cpu[i]) + " CPU, flags " + std::to_string(flags[i]) +
                               ", " + std::to_string(counts[i]) + " ticks");
      }
      break;
    }
    case BlockType::kStats: {
      const auto keys = texts(block, Column::kKeyText);
      const auto counts = rows<int64_t>(block, Column::kCount);
      for (size_t i = 0; i < keys.size(); ++i) file.stats[keys[i]] += counts[i];
      if (block.has(Column::kText)) file.notes = texts(block, Column::kText);
      break;
    }
    case BlockType::kClock:
      ++file.clock_blocks;
      break;
    default:
      ADD_FAILURE() << "a block of " << to_string(block.header().type);
  }
}

ReadFile read(std::span<const uint8_t> bytes) {
  ReadFile file;
  auto reader = BlockReader::open(bytes);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  if (!reader) return file;
  file.file_id = reader->file_header().file_id;
  for (const format::BlockInfo& info : reader->blocks()) {
    const auto block = reader->read(info);
    EXPECT_TRUE(block.ok()) << block.status().message();
    if (block) read_block(*block, file);
  }
  const format::ReadReport report = reader->report();
  file.is_whole = report.blocks_damaged == 0 && report.torn_tail_bytes == 0;
  return file;
}

TEST(SampleFile, HoldsWhatWasSeen) {
  MemorySink sink;
  auto file = SampleFile::create(sink, {.period_ns = kPeriodNs, .is_native = true});
  ASSERT_TRUE(file.ok()) << file.status().message();
  const uint32_t process = (*file)->add_process(1234, "python train.py");
  const uint32_t thread = (*file)->add_thread(process, 1235, "Thread-1");
  const uint32_t main = (*file)->add_frame("main", "a.py", 1);
  const uint32_t work = (*file)->add_frame("work", "a.py", 9);
  const uint32_t outer = (*file)->add_stack(SampleFile::kNoStack, main, 3);
  const uint32_t inner = (*file)->add_stack(outer, work, 21);
  ASSERT_TRUE((*file)->add_sample({thread, 10, inner, 100, 70, kSampleHeldGil, 1}).ok());
  (*file)->rename_thread(thread, "loader");
  ASSERT_TRUE((*file)->add_sample({thread, 20, outer, 500, -1, kSampleWaited, 5}).ok());
  (*file)->set_sampling_info(
      {.period_ns = kPeriodNs, .ticks = 8, .missed_ticks = 2, .torn_reads = 1, .seconds = 1.25});
  (*file)->add_note("something");
  ASSERT_TRUE((*file)->close().ok());

  const ReadFile read_back = read(sink.bytes());
  EXPECT_TRUE(read_back.is_whole);
  EXPECT_NE(read_back.file_id, 0u);
  EXPECT_EQ(read_back.metadata.at("stepscope.boot_id"), format::read_boot_id());
  EXPECT_EQ(read_back.metadata.at("stepscope.closed"), "1");
  EXPECT_EQ(read_back.metadata.at("sampling"),
            "{\"period_ns\": 10000000, \"ticks\": 8, \"missed_ticks\": 2, \"samples\": 6, "
            "\"torn_reads\": 1, \"mode\": \"outside\", \"native\": false, \"paused\": false, "
            "\"seconds\": 1.250}");
  EXPECT_EQ(read_back.processes.at(process), "1234 python train.py");
  EXPECT_EQ(read_back.threads.at(thread), "1235 loader");
  EXPECT_EQ(read_back.frames, (std::vector<std::string>{"main a.py:1", "work a.py:9"}));
  EXPECT_EQ(read_back.samples,
            (std::vector<std::string>{
                "@10 thread 0: work:21 < main:3, 100 wall, 70 CPU, flags 1, 1 ticks",
                "@20 thread 0: main:3, 500 wall, -1 CPU, flags 2, 5 ticks"}));
  EXPECT_EQ(read_back.stats, (std::map<std::string, int64_t>{
                                 {"sampler_ticks", 8}, {"ticks_missed", 2}, {"samples_torn", 1}}));
  EXPECT_EQ(read_back.notes, std::vector<std::string>{"something"});
  EXPECT_EQ(read_back.clock_blocks, 2u);
}

TEST(SampleFile, TheSameIsWrittenOnce) {
  MemorySink sink;
  auto file = SampleFile::create(sink, {});
  const uint32_t work = (*file)->add_frame("work", "a.py", 9);
  EXPECT_EQ((*file)->add_frame("work", "a.py", 9), work);
  EXPECT_NE((*file)->add_frame("work", "a.py", 10), work);
  EXPECT_NE((*file)->add_frame("a.py", "work", 9), work);
  const uint32_t stack = (*file)->add_stack(SampleFile::kNoStack, work, 3);
  EXPECT_EQ((*file)->add_stack(SampleFile::kNoStack, work, 3), stack);
  EXPECT_NE((*file)->add_stack(SampleFile::kNoStack, work, 4), stack);
  EXPECT_NE((*file)->add_stack(stack, work, 3), stack);
  ASSERT_TRUE((*file)->close().ok());
  EXPECT_EQ(read(sink.bytes()).strings, (std::vector<std::string>{"", "work", "a.py"}));
}

// Whenever the sampler is killed, what is there can be read; at most a second is missing.
TEST(SampleFile, IsWholeAfterEachSecondOfSamples) {
  constexpr int64_t kSecondNs = 1'000'000'000;
  MemorySink sink;
  auto file = SampleFile::create(sink, {.period_ns = kSecondNs / 100});
  const uint32_t thread = (*file)->add_thread((*file)->add_process(1, ""), 1, "");
  size_t seen_blocks = 0;
  for (int64_t tick = 0; tick < 1'000; ++tick) {
    const std::string name = "f" + std::to_string(tick % 300);
    const uint32_t stack =
        (*file)->add_stack(SampleFile::kNoStack, (*file)->add_frame(name, "a.py", 1), 1);
    const int64_t now_ns = tick * kSecondNs / 100;
    ASSERT_TRUE((*file)->add_sample({thread, now_ns, stack, kSecondNs / 100}).ok());
    if (tick % 100 != 99) continue;
    const ReadFile so_far = read(sink.bytes());
    EXPECT_TRUE(so_far.is_whole);
    EXPECT_GE(so_far.samples.size() + 101, static_cast<size_t>(tick));
    EXPECT_FALSE(so_far.metadata.contains("stepscope.closed"));
    seen_blocks = so_far.sample_blocks;
  }
  EXPECT_GE(seen_blocks, 9u);
  ASSERT_TRUE((*file)->close().ok());
  EXPECT_EQ(read(sink.bytes()).samples.size(), 1'000u);
  EXPECT_EQ((*file)->samples(), 1'000u);
}

TEST(SampleFile, AFullDiskIsToldOnceAndLeavesAWholeFile) {
  SmallDisk disk(20'000);
  auto file = SampleFile::create(disk, {});
  ASSERT_TRUE(file.ok());
  const uint32_t thread = (*file)->add_thread((*file)->add_process(1, ""), 1, "");
  int errors = 0;
  for (int64_t i = 0; i < 100'000; ++i) {
    const std::string name = std::to_string(i * 7919 % 100'003) + std::to_string(i);
    const uint32_t stack =
        (*file)->add_stack(SampleFile::kNoStack, (*file)->add_frame(name, "a.py", 1), 1);
    const Status status = (*file)->add_sample({thread, i * 1'000'000, stack, 1});
    if (!status) {
      ++errors;
      EXPECT_EQ(status.message(), "No space left on device");
    }
  }
  EXPECT_EQ(errors, 1);
  EXPECT_TRUE((*file)->close().ok());
  const ReadFile read_back = read(disk.bytes());
  EXPECT_TRUE(read_back.is_whole);
  EXPECT_FALSE(read_back.metadata.contains("stepscope.closed"));
  EXPECT_FALSE(read_back.samples.empty());
}

TEST(SampleFile, SaysWhyItCanNotBeMade) {
  const auto file = SampleFile::create("/no/such/folder/1.samples.sscope", {});
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().message(),
            "/no/such/folder/1.samples.sscope: create: No such file or directory");
}

TEST(SampleFile, LongNamesAreCutBetweenCharacters) {
  MemorySink sink;
  auto file = SampleFile::create(sink, {});
  std::string name(4'095, 'x');
  name += "\u00e9\u00e9";
  (*file)->add_frame(name, "", 0);
  ASSERT_TRUE((*file)->close().ok());
  EXPECT_EQ(read(sink.bytes()).strings.at(1), std::string(4'095, 'x'));
}

}  // namespace
}  // namespace stepscope::sample
