#include "trace/recording.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/process_stat.h"
#include "format/column_decoder.h"
#include "format/layout.h"
#include "trace/file_schema.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

using format::BlockInfo;
using format::BlockType;
using format::Column;

constexpr std::string_view kSuffix = ".sscope";

// "run/1234" of run/1234.sscope and of run/1234.2.sscope, if that is segment 2.
std::string stem_of(const std::string& path, uint32_t segment) {
  std::string stem = path;
  if (stem.ends_with(kSuffix)) stem.resize(stem.size() - kSuffix.size());
  const std::string number = "." + std::to_string(segment);
  if (segment > 0 && stem.ends_with(number)) stem.resize(stem.size() - number.size());
  return stem;
}

std::string path_of_segment(const std::string& stem, uint32_t segment) {
  return stem + (segment == 0 ? "" : "." + std::to_string(segment)) + std::string(kSuffix);
}

// From its header alone; 0 where this is no file of a recording.
uint64_t read_file_id(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return 0;
  std::array<uint8_t, format::kFileHeaderBytes> bytes{};
  struct stat info {};
  const bool is_file = ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  const ssize_t got = is_file ? ::pread(descriptor, bytes.data(), bytes.size(), 0) : 0;
  ::close(descriptor);
  if (got != static_cast<ssize_t>(bytes.size())) return 0;
  const auto header = format::unpack_file_header(bytes);
  return header ? header->header.file_id : 0;
}

void take_metadata(std::string_view key, std::string_view value, RecordingInfo& info) {
  if (key == format::kBootIdKey) info.boot_id = value;
  if (key == format::kPoolKey) info.pool_path = value;
  if (key == format::kClosedKey) info.is_closed = true;
  if (key == format::kSamplerKey) info.sampler = value;
  if (key == format::kBesideCallsKey) info.is_beside_calls = true;
  if (key == format::kSegmentKey) {
    std::from_chars(value.data(), value.data() + value.size(), info.segment);
  }
}

bool sampler_is_running(const RecordingInfo& info) {
  if (info.boot_id != format::read_boot_id()) return false;
  const size_t end = info.sampler.find(' ');
  const std::string pid = info.sampler.substr(0, end);
  if (end == std::string::npos || pid.empty() ||
      pid.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  const ProcessStat stat = read_process_stat(pid);
  return stat.state != 'Z' && stat.start_ticks != 0 &&
         info.sampler.substr(end + 1) == std::to_string(stat.start_ticks);
}

}  // namespace

RecordingInfo read_recording_info(const format::BlockReader& reader) {
  RecordingInfo info;
  info.file_id = reader.file_header().file_id;
  if (info.file_id == 0) return info;
  format::ColumnDecoder decoder;
  uint64_t bytes_left = uint64_t{16} << 20;  // a recorder writes a few hundred
  for (const BlockInfo& block_info : reader.blocks()) {
    if (block_info.header.type != BlockType::kMetadata) continue;
    if (block_info.header.raw_bytes > bytes_left) break;
    bytes_left -= block_info.header.raw_bytes;
    const auto block = reader.read(block_info);
    if (!block) continue;
    format::TextColumn keys, values;
    std::vector<uint8_t> flags;
    // A block that can not be read is told of when it is loaded.
    if (!decoder.decode_text(*block, Column::kKeyText, keys) ||
        !decoder.decode_text(*block, Column::kValueText, values) ||
        !decoder.decode_rows_or(*block, Column::kFlags, uint8_t{0}, flags)) {
      continue;
    }
    for (size_t i = 0; i < std::min({keys.size(), values.size(), flags.size()}); ++i) {
      if ((flags[i] & kMetadataOfFile) != 0) {
        take_metadata(keys[i], values[i], info);
      } else if (keys[i] == format::kRankKey) {
        info.rank = values[i];
      }
    }
  }
  return info;
}

Result<Recording> Recording::open(std::vector<std::string> paths, Scope scope,
                                  format::ReaderOptions options) {
  Recording recording;
  if (Status status = recording.open_files(paths, scope, options); !status) return status;
  const RecordingInfo& info = recording.info();
  if (info.file_id == 0) return recording;
  recording.state_ = State::kClosed;
  if (info.is_closed) return recording;
  if (info.is_sampler()) {
    recording.state_ = sampler_is_running(info) ? State::kRunning : State::kSamplerKilled;
    return recording;
  }

  std::string stem = stem_of(recording.files_.back().path, info.segment);
  uint32_t segment = info.segment;
  const auto next_path = [&] { return path_of_segment(stem, segment + 1); };
  if (scope == Scope::kFile && read_file_id(next_path()) == info.file_id) {
    recording.state_ = State::kPart;
    return recording;
  }
  recording.find_pool();
  if (scope == Scope::kAll) {
    for (; read_file_id(next_path()) == info.file_id; ++segment) paths.push_back(next_path());
  }
  // What left the pool before it was copied is in the files as they are now.
  if (Status status = recording.open_files(paths, scope, options); !status) return status;
  if (recording.info().is_closed) {
    recording.pool_.reset();
  } else if (!recording.pool_) {
    recording.state_ = State::kPoolMissing;
  } else {
    auto reader = format::BlockReader::open(recording.pool_->blocks);
    if (!reader) return reader.status();
    recording.pool_reader_.emplace(*std::move(reader));
    recording.state_ = recording.pool_->is_running ? State::kRunning : State::kEnded;
  }
  return recording;
}

Status Recording::open_files(const std::vector<std::string>& paths, Scope scope,
                             format::ReaderOptions options) {
  const uint64_t file_id = files_.empty() ? 0 : info().file_id;
  files_.clear();
  faults_.clear();
  Status first_fault;
  const auto fail = [&](const std::string& path, const Status& status) {
    if (first_fault) first_fault = status;
    if (scope == Scope::kAll && ::access(path.c_str(), F_OK) == 0) {
      faults_.push_back(status.message());
    }
  };
  for (const std::string& path : paths) {
    auto mapping = MappedFile::open(path);
    if (!mapping) {
      fail(path, mapping.status());
      continue;
    }
    auto reader = format::BlockReader::open(mapping->bytes(), options);
    if (!reader) {
      fail(path, Status::error(path + ": " + reader.status().message()));
      continue;
    }
    RecordingInfo info = read_recording_info(*reader);
    if (file_id != 0 && info.file_id != file_id) continue;  // a new file of the same name
    files_.push_back({path, *std::move(mapping), *std::move(reader), std::move(info)});
  }
  std::stable_sort(files_.begin(), files_.end(),
                   [](const File& a, const File& b) { return a.info.segment < b.info.segment; });
  if (!files_.empty()) return {};
  return first_fault ? Status::error(paths.front() + ": its recording is no longer there")
                     : first_fault;
}

void Recording::find_pool() {
  const File& last = files_.back();
  read_pool(stem_of(last.path, last.info.segment) + ".pool");
  if (!pool_ && last.info.pool_path.starts_with('/')) read_pool(last.info.pool_path);
}

void Recording::read_pool(const std::string& path) {
  auto pool = format::read_pool(path);
  if (!pool || pool->file_id != info().file_id) return;
  // A pid and a start time mean something only until the next boot.
  if (!info().boot_id.empty() && info().boot_id != format::read_boot_id()) pool->is_running = false;
  pool_ = *std::move(pool);
}

uint64_t Recording::bytes() const {
  uint64_t bytes = pool_ ? pool_->blocks.size() : 0;
  for (const File& file : files_) bytes += file.mapping.bytes().size();
  return bytes;
}

std::vector<BlockSource> Recording::sources(const std::string& note_prefix) const {
  std::vector<BlockSource> sources;
  for (const File& file : files_) {
    BlockSource& source = sources.emplace_back();
    source.reader = &file.reader;
    source.bytes = file.mapping.bytes().size();
    const bool names_file = !note_prefix.empty() || files_.size() > 1;
    if (names_file) source.note_prefix = fs::path(file.path).filename().string() + ": ";
  }
  if (!pool_reader_) return sources;
  // A block that the writer was not done with is still in the pool.
  sources.back().tail_is_in_pool = true;
  BlockSource& source = sources.emplace_back();
  source.reader = &*pool_reader_;
  source.bytes = pool_->blocks.size();
  source.note_prefix = note_prefix + "in the pool: ";
  source.is_pool = true;
  source.is_running = pool_->is_running;
  return sources;
}

Result<std::vector<std::vector<std::string>>> find_recordings(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> paths;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with('.') && name.ends_with(kSuffix)) paths.push_back(at->path().string());
  }
  if (error) return Status::error(folder + ": " + error.message());
  std::sort(paths.begin(), paths.end());
  std::vector<std::vector<std::string>> recordings;
  std::map<uint64_t, size_t> place_by_id;
  for (std::string& path : paths) {
    const uint64_t file_id = read_file_id(path);
    if (file_id == 0) continue;
    const auto [place, is_new] = place_by_id.try_emplace(file_id, recordings.size());
    if (is_new) recordings.emplace_back();
    recordings[place->second].push_back(std::move(path));
  }
  return recordings;
}

bool is_run_folder(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return false;
  const auto recordings = find_recordings(path);
  return recordings.ok() && !recordings->empty();
}

bool is_beside_calls(const std::string& path) {
  if (!path.ends_with(kSuffix)) return false;
  const auto recording = Recording::open({path}, Recording::Scope::kFile, {});
  return recording.ok() && recording->info().is_beside_calls;
}

size_t count_ranks(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return 0;
  const auto recordings = find_recordings(folder);
  std::set<std::string> ranks;
  for (const auto& paths : recordings ? *recordings : std::vector<std::vector<std::string>>()) {
    const auto recording = Recording::open({paths.front()}, Recording::Scope::kFile, {});
    if (recording && !recording->info().rank.empty()) ranks.insert(recording->info().rank);
  }
  return ranks.size();
}

}  // namespace stepscope
