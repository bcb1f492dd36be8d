#include "trace/file_slice_stream.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace stepscope {

using format::BlockInfo;
using format::BlockType;

FileSliceStream::FileSliceStream(format::BlockReader reader, RowBudget budget)
    : reader_(std::move(reader)), budget_(budget), definitions_(builder_, budget_) {}

Result<std::unique_ptr<FileSliceStream>> FileSliceStream::open(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return file.status();
  auto owned = std::make_unique<MappedFile>(std::move(*file));
  auto stream = open(owned->bytes(), path);
  if (stream) (*stream)->file_ = std::move(owned);
  return stream;
}

Result<std::unique_ptr<FileSliceStream>> FileSliceStream::open(std::span<const uint8_t> file,
                                                               const std::string& name,
                                                               const TraceReadOptions& options) {
  auto reader = format::BlockReader::open(file, {.verify_checksums = options.verify_checksums});
  if (!reader) return Status::error(name + ": " + reader.status().message());
  if (Status status = check_order(*reader); !status) {
    return Status::error(name + ": " + status.message());
  }
  const RowBudget budget =
      options.max_rows ? RowBudget(*options.max_rows) : RowBudget::for_file_of(file.size());
  return std::unique_ptr<FileSliceStream>(new FileSliceStream(std::move(*reader), budget));
}

// By the headers alone: the blocks of a track lie together, in order of time.
Status FileSliceStream::check_order(const format::BlockReader& reader) {
  std::unordered_set<uint32_t> tracks;
  const BlockInfo* before = nullptr;
  constexpr auto kIsRecording = "a recording with raw records can only be loaded whole";
  // Where there is no block of records yet, they are in its pool.
  if (reader.file_header().file_id != 0) return Status::error(kIsRecording);
  for (const BlockInfo& info : reader.blocks()) {
    if (info.header.type == BlockType::kRecords) {
      return Status::error(kIsRecording);
    }
    if (info.header.type != BlockType::kSlices) continue;
    const bool goes_on = before != nullptr && before->header.stream == info.header.stream;
    const bool in_order = goes_on ? before->header.min_ns <= info.header.min_ns
                                  : tracks.insert(info.header.stream).second;
    if (!in_order || info.header.stream == format::kNoStream || !info.header.has_time_range()) {
      return Status::error("its slices are not in order; it can only be loaded whole");
    }
    before = &info;
  }
  return {};
}

Status FileSliceStream::rewind() {
  next_block_ = 0;
  has_track_ = false;
  return {};
}

Result<bool> FileSliceStream::next(SliceBlock& block) {
  if (!read_next_slices()) return false;
  read_args_behind();
  block.starts_track = !has_track_ || track_ != slices_.track;
  block.track = track_ = slices_.track;
  has_track_ = true;
  block.first_row = slices_.first_id;
  block.start_ns = slices_.start_ns;
  block.short_dur_ns = slices_.short_dur_ns;
  // SliceBlock has these by SliceId.
  for (auto& entry : slices_.long_dur_ns) entry.first += slices_.first_id;
  block.long_dur_ns = slices_.long_dur_ns;
  block.label = slices_.label;
  block.args = args_;
  return true;
}

void FileSliceStream::read_definitions(const BlockInfo& info) {
  if (!DefinitionReader::reads(info.header.type) || info.number < defined_blocks_) return;
  defined_blocks_ = info.number + 1;
  auto block = reader_.read(info);  // where that fails the reader counts it
  if (block && !definitions_.read(*block, decoder_)) reader_.count_damaged(info);
}

bool FileSliceStream::read_next_slices() {
  while (next_block_ < reader_.blocks().size()) {
    const BlockInfo& info = reader_.blocks()[next_block_++];
    if (info.header.type != BlockType::kSlices) {
      read_definitions(info);
      continue;
    }
    auto block = reader_.read(info);
    if (!block) continue;
    if (!read_slices(*block, decoder_, definitions_, slices_)) {
      reader_.count_damaged(info);
      continue;
    }
    for (int64_t& ns : slices_.start_ns) {
      ns = std::clamp(ns, -TraceBuilder::kMaxTimeNs, TraceBuilder::kMaxTimeNs);
    }
    return true;
  }
  return false;
}

// The argument blocks up to the next block of slices belong to this one.
void FileSliceStream::read_args_behind() {
  args_.clear();
  for (; next_block_ < reader_.blocks().size(); ++next_block_) {
    const BlockInfo& info = reader_.blocks()[next_block_];
    if (info.header.type == BlockType::kSlices) return;
    if (info.header.type != BlockType::kArgs) {
      read_definitions(info);  // of strings that these arguments use, perhaps
      continue;
    }
    auto block = reader_.read(info);
    if (!block) continue;
    if (!read_args(*block, decoder_, definitions_, decoded_args_)) {
      reader_.count_damaged(info);
      continue;
    }
    append_args();
  }
}

void FileSliceStream::append_args() {
  const auto first = SliceId{slices_.first_id};
  const auto last = SliceId{slices_.first_id + static_cast<uint32_t>(slices_.start_ns.size()) - 1};
  for (SliceId& slice : decoded_args_.slices) {
    if (slice < first || slice > last) slice = kNoSlice;
  }
  decoded_args_.drop_lost();
  if (decoded_args_.slices.empty()) return;
  for (ArgColumn& column : args_) {
    if (column.key != decoded_args_.key || column.type != decoded_args_.type) continue;
    // A second block of the same argument must go on where the first ended.
    if (column.rows.back() < decoded_args_.slices.front()) decoded_args_.append_to(column);
    return;
  }
  ArgColumn& column = args_.emplace_back();
  column.key = decoded_args_.key;
  column.type = decoded_args_.type;
  decoded_args_.append_to(column);
}

}  // namespace stepscope
