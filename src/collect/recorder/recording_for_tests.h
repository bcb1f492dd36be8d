// Reads back what the recorder wrote, block by block and apart from the trace layer, for the tests
// of this folder; and a folder that is removed at the end of a test.
//
//   const TemporaryFolder folder;
//   ...
//   RecordedFile file = read_recorded(folder.path() + "/1234.sscope");
//   for (const RecordedBlock& block : file.records) ...
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "format/block_reader.h"
#include "format/column_decoder.h"
#include "format/record.h"

namespace stepscope {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    path_ = (std::filesystem::temp_directory_path() / "recorder_test_XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << path_;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }

  const std::string& path() const { return path_; }

  // Full paths, sorted.
  std::vector<std::string> files(const std::string& suffix = "") const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      if (entry.path().string().ends_with(suffix)) files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

 private:
  std::string path_;
};

struct RecordedLabel {
  uint32_t name = 0, category = 0;
  uint8_t kind = 0;
  bool operator==(const RecordedLabel&) const = default;
};

struct RecordedTrack {
  uint8_t kind = 0;
  int64_t number = 0;
  uint32_t name = 0, series = 0, unit = 0;
  bool operator==(const RecordedTrack&) const = default;
};

// One `records` block.
struct RecordedBlock {
  uint32_t stream = 0, track = 0, context = 0;
  uint64_t first_tick = 0, first_word = 0, dropped = 0;
  std::vector<uint64_t> words;
};

struct RecordedFile {
  uint64_t file_id = 0;
  std::map<std::string, std::string> metadata;
  std::map<uint32_t, std::string> strings;
  std::map<uint32_t, RecordedLabel> labels;
  std::map<uint32_t, RecordedTrack> tracks;  // by their last definition
  std::vector<RecordedBlock> records;        // in the order of the file
  std::vector<std::string> notes;
  uint32_t clock_readings = 0;

  std::string name_of_label(uint32_t id) const { return strings.at(labels.at(id).name); }
  std::string name_of_track(uint32_t id) const { return strings.at(tracks.at(id).name); }
};

class RecordedFileReader {
 public:
  RecordedFile read(std::span<const uint8_t> bytes) {
    Result<format::BlockReader> reader = format::BlockReader::open(bytes);
    if (!reader) {
      ADD_FAILURE() << reader.status().message();
      return file_;
    }
    file_.file_id = reader->file_header().file_id;
    for (const format::BlockInfo& info : reader->blocks()) {
      const Result<format::BlockView> block = reader->read(info);
      if (block) read_block(*block);
    }
    EXPECT_TRUE(reader->report().is_clean()) << to_string(reader->report());
    return std::move(file_);
  }

 private:
  using BlockType = format::BlockType;
  using Column = format::Column;

  template <typename T>
  T one(const format::BlockView& block, Column column) {
    const Result<T> value = decoder_.decode_one<T>(block, column);
    if (!value) ADD_FAILURE() << value.status().message();
    return value ? *value : T{};
  }
  template <typename T>
  std::vector<T> rows(const format::BlockView& block, Column column) {
    std::vector<T> values;
    const Status status = decoder_.decode_rows(block, column, values);
    if (!status) ADD_FAILURE() << status.message();
    values.resize(block.rows());
    return values;
  }
  format::TextColumn texts(const format::BlockView& block, Column column) {
    format::TextColumn values;
    const Status status = decoder_.decode_text(block, column, values);
    if (!status) ADD_FAILURE() << status.message();
    return values;
  }

  void read_block(const format::BlockView& block) {
    switch (block.header().type) {
      case BlockType::kMetadata: {
        const auto keys = texts(block, Column::kKeyText), values = texts(block, Column::kValueText);
        for (size_t i = 0; i < keys.size(); ++i) file_.metadata.emplace(keys[i], values[i]);
        return;
      }
      case BlockType::kStrings: {
        const auto first = static_cast<uint32_t>(one<uint64_t>(block, Column::kFirstId));
        const auto values = texts(block, Column::kText);
        for (uint32_t i = 0; i < values.size(); ++i) {
          const auto [at, is_new] = file_.strings.emplace(first + i, values[i]);
          EXPECT_TRUE(is_new || at->second == values[i]) << "string " << first + i;
        }
        return;
      }
      case BlockType::kLabels: {
        const auto first = static_cast<uint32_t>(one<uint64_t>(block, Column::kFirstId));
        const auto names = rows<uint32_t>(block, Column::kName);
        const auto categories = rows<uint32_t>(block, Column::kCategory);
        const auto kinds = rows<uint8_t>(block, Column::kKind);
        for (uint32_t i = 0; i < block.rows(); ++i) {
          EXPECT_TRUE(file_.strings.contains(names[i])) << "a label before its name";
          EXPECT_TRUE(file_.strings.contains(categories[i])) << "a label before its category";
          file_.labels[first + i] = {names[i], categories[i], kinds[i]};
        }
        return;
      }
      case BlockType::kTracks: {
        const auto ids = rows<uint32_t>(block, Column::kId);
        const auto kinds = rows<uint8_t>(block, Column::kKind);
        const auto numbers = rows<int64_t>(block, Column::kNumber);
        const auto names = rows<uint32_t>(block, Column::kName);
        const auto series = rows<uint32_t>(block, Column::kSeries);
        const auto units = rows<uint32_t>(block, Column::kUnit);
        for (uint32_t i = 0; i < block.rows(); ++i) {
          EXPECT_TRUE(file_.strings.contains(names[i])) << "a track before its name";
          file_.tracks[ids[i]] = {kinds[i], numbers[i], names[i], series[i], units[i]};
        }
        return;
      }
      case BlockType::kRecords:
        return read_records(block);
      case BlockType::kClock:
        ++file_.clock_readings;
        return;
      case BlockType::kStats: {
        const auto notes = texts(block, Column::kText);
        for (size_t i = 0; i < notes.size(); ++i) file_.notes.emplace_back(notes[i]);
        return;
      }
      default:
        return;
    }
  }

  void read_records(const format::BlockView& block) {
    RecordedBlock records;
    records.stream = block.header().stream;
    records.track = one<uint32_t>(block, Column::kTrack);
    records.context = one<uint32_t>(block, Column::kContext);
    records.first_tick = one<uint64_t>(block, Column::kFirstTick);
    records.first_word = one<uint64_t>(block, Column::kFirstWord);
    records.dropped = one<uint64_t>(block, Column::kDropped);
    const auto lower = rows<uint32_t>(block, Column::kTicks);
    const auto upper = rows<uint32_t>(block, Column::kPayload);
    for (size_t i = 0; i < lower.size(); ++i) {
      records.words.push_back(format::join_halves(lower[i], upper[i]));
    }
    file_.records.push_back(std::move(records));
  }

  format::ColumnDecoder decoder_;
  RecordedFile file_;
};

inline RecordedFile read_recorded(const std::string& path) {
  const Result<MappedFile> file = MappedFile::open(path);
  if (!file) {
    ADD_FAILURE() << file.status().message();
    return {};
  }
  return RecordedFileReader().read(file->bytes());
}

}  // namespace stepscope
