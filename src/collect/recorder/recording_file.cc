#include "collect/recorder/recording_file.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>

#include "format/record.h"
#include "format/recording_metadata.h"

namespace stepscope {
namespace {

using format::BlockBuilder;
using format::BlockType;
using format::Column;

constexpr int kMaxNames = 10'000;
constexpr size_t kMaxReadings = 8;
constexpr uint64_t kLeastSegmentBytes = uint64_t{64} << 10;
constexpr uint64_t kOtherBytes = uint64_t{16} << 10;  // clock readings and the like between records

std::string read_first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "python train.py --epochs 3", without the folders before it.
std::string find_command() {
  std::string command = read_first_line("/proc/self/cmdline");
  const size_t program_end = std::min(command.find('\0'), command.size());
  const size_t folder_end = command.rfind('/', program_end);
  if (folder_end != std::string::npos) command.erase(0, folder_end + 1);
  std::replace(command.begin(), command.end(), '\0', ' ');
  while (command.ends_with(' ')) command.pop_back();
  constexpr size_t kMaxBytes = 120;
  if (command.size() > kMaxBytes) command = command.substr(0, kMaxBytes) + "...";
  return command;
}

}  // namespace

Result<std::unique_ptr<RecordingFile>> RecordingFile::create(RecordingIdentity identity,
                                                             RecordingLimits limits,
                                                             Definitions& definitions) {
  std::unique_ptr<RecordingFile> file(new RecordingFile(std::move(identity), limits, definitions));
  const std::string pid = std::to_string(file->identity_.pid);
  for (int i = 1; i <= kMaxNames; ++i) {
    file->stem_ = i == 1 ? pid : pid + "-" + std::to_string(i);
    bool exists = false;
    Result<std::unique_ptr<GuardedFile>> sink =
        GuardedFile::create(file->identity_.folder_descriptor, file->identity_.folder,
                            file->stem_ + ".sscope", file->identity_.files_are_private, &exists);
    if (exists) continue;
    if (!sink) return sink.status();
    file->sink_ = std::move(*sink);
    file->segments_.push_back({file->stem_ + ".sscope"});
    return file;
  }
  return Status::error(file->identity_.folder + ": too many recordings of process " + pid);
}

std::string RecordingFile::path() const { return identity_.folder + "/" + segments_.back().name; }

Status RecordingFile::open(std::string pool_path, const ClockReading& now) {
  identity_.pool_path = std::move(pool_path);
  readings_.push_back(now);
  return begin_segment();
}

Status RecordingFile::create_segment(const std::string& name) {
  bool exists = false;
  Result<std::unique_ptr<GuardedFile>> sink = GuardedFile::create(
      identity_.folder_descriptor, identity_.folder, name, identity_.files_are_private, &exists);
  if (!sink) return sink.status();
  writer_.reset();
  sink_ = std::move(*sink);
  segments_.push_back({name});
  is_begun_ = false;
  return {};
}

// May be called again after a failure: what was written of it is then written twice, which readers
// take for the same.
Status RecordingFile::begin_segment() {
  if (is_begun_) return {};
  if (writer_ == nullptr) {
    format::WriterOptions options;
    options.file_id = identity_.file_id;
    options.keeps_index = false;
    Result<format::BlockWriter> writer = format::BlockWriter::create(*sink_, options);
    if (!writer) return writer.status();
    writer_ = std::make_unique<format::BlockWriter>(std::move(*writer));
  }
  const std::pair<std::string, std::string> entries[] = {
      {std::string(format::kPidKey), std::to_string(identity_.pid)},
      {std::string(format::kBootIdKey), format::read_boot_id()},
      {std::string(format::kHostKey), format::read_host_name()},
      {std::string(format::kSegmentKey), std::to_string(segment_number_)},
      {std::string(format::kPoolKey), identity_.pool_path},
  };
  if (Status status = format::write_metadata(*writer_, entries, format::kMetadataOfFile); !status) {
    return status;
  }
  if (Status status = format::write_metadata(*writer_, identity_.metadata, 0); !status) {
    return status;
  }
  // Before the tracks, which belong to it, and again once its name is defined.
  const uint32_t command = definitions_.string_id(find_command());
  if (Status status = definitions_.write(*writer_, 0, 1); !status) return status;  // string 0
  if (Status status = write_process(0); !status) return status;
  definitions_written_ = 1;
  if (Status status = append_definitions(); !status) return status;
  if (Status status = write_process(command); !status) return status;
  const std::vector<ClockReading> readings = readings_;
  for (const ClockReading& reading : readings) {
    if (Status status = append_clock(reading); !status) return status;
  }
  readings_ = readings;
  is_begun_ = true;
  return {};
}

Status RecordingFile::write_process(uint32_t name) {
  BlockBuilder block(BlockType::kProcesses, 1);
  block.add_one<uint32_t>(Column::kId, 0)
      .add_one<int64_t>(Column::kNumber, identity_.pid)
      .add_one<uint32_t>(Column::kName, name);
  return write(block);
}

Status RecordingFile::write_definitions() {
  if (Status status = begin_segment(); !status) return status;
  return append_definitions();
}

Status RecordingFile::append_definitions() {
  const uint32_t count = definitions_.begin_writing();
  if (Status status = definitions_.write(*writer_, definitions_written_, count); !status) {
    return status;
  }
  definitions_written_ = count;
  definitions_.written();
  return {};
}

Status RecordingFile::write_records(const RecordStretch& stretch) {
  if (Status status = rotate_if_full(); !status) return status;
  lower_.clear();
  upper_.clear();
  for (const std::span<const uint64_t> words : stretch.words) {
    const size_t at = lower_.size();
    lower_.resize(at + words.size());
    upper_.resize(at + words.size());
    for (size_t i = 0; i < words.size(); ++i) {
      lower_[at + i] = format::lower_half(words[i]);
      upper_[at + i] = format::upper_half(words[i]);
    }
  }
  BlockBuilder block(BlockType::kRecords, static_cast<uint32_t>(lower_.size()));
  block.set_stream(stretch.stream);
  block.add_one<uint64_t>(Column::kFirstTick, stretch.first_tick)
      .add_one<uint32_t>(Column::kTrack, stretch.track)
      .add_one<uint32_t>(Column::kContext, stretch.context)
      .add_one<uint64_t>(Column::kDropped, stretch.dropped)
      .add_one<uint64_t>(Column::kFirstWord, stretch.first_word)
      .add<uint32_t>(Column::kTicks, lower_)
      .add<uint32_t>(Column::kPayload, upper_);
  keep_ring(block.raw_bytes() + kOtherBytes);
  return write(block);
}

Status RecordingFile::write_clock(const ClockReading& reading) {
  if (Status status = begin_segment(); !status) return status;
  return append_clock(reading);
}

Status RecordingFile::append_clock(const ClockReading& reading) {
  if (Status status = format::write_clock(*writer_, reading, identity_.ticks_per_second); !status) {
    return status;
  }
  readings_.push_back(reading);
  if (readings_.size() > kMaxReadings) readings_.erase(readings_.begin() + 1);
  return {};
}

Status RecordingFile::rotate_if_full() {
  const uint64_t limit =
      limits_.total_bytes > 0
          ? std::max(kLeastSegmentBytes,
                     std::min(limits_.total_bytes / 8,
                              limits_.segment_bytes > 0 ? limits_.segment_bytes : UINT64_MAX))
          : limits_.segment_bytes;
  if (limit > 0 && is_begun_ && sink_->size() >= limit) {
    segments_.back().bytes = sink_->size();
    const std::string name = stem_ + "." + std::to_string(segment_number_ + 1) + ".sscope";
    if (Status status = create_segment(name); !status) return status;
    ++segment_number_;
  }
  return begin_segment();
}

// Makes room for so much more.
void RecordingFile::keep_ring(uint64_t next_bytes) {
  if (limits_.total_bytes == 0) return;
  segments_.back().bytes = sink_->size();
  uint64_t total_bytes = next_bytes;
  for (const Segment& segment : segments_) total_bytes += segment.bytes;
  while (segments_.size() > 1 && total_bytes > limits_.total_bytes) {
    const std::string& name = segments_.front().name;
    if (identity_.files_are_private) {
      ::unlinkat(identity_.folder_descriptor, name.c_str(), 0);
    } else {
      ::unlink((identity_.folder + "/" + name).c_str());
    }
    total_bytes -= segments_.front().bytes;
    segments_.pop_front();
  }
}

Status RecordingFile::close(const std::vector<std::string>& notes) {
  if (Status status = begin_segment(); !status) return status;
  if (!notes.empty()) {
    const std::vector<std::string_view> texts(notes.begin(), notes.end());
    BlockBuilder stats(BlockType::kStats, 0);
    const std::vector<std::string_view> no_keys;
    stats.add_text(Column::kKeyText, no_keys).add<int64_t>(Column::kCount, {});
    stats.add_text(Column::kText, texts);
    if (Status status = write(stats); !status) return status;
  }
  const std::pair<std::string, std::string> entries[] = {{std::string(format::kClosedKey), "1"}};
  if (Status status = format::write_metadata(*writer_, entries, format::kMetadataOfFile); !status) {
    return status;
  }
  if (!sink_->has_name()) {
    return Status::error(path() + ": was removed while it was being written");
  }
  return {};
}

}  // namespace stepscope
