#include "trace/definition_reader.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "trace/file_schema.h"

namespace stepscope {
namespace {

using format::BlockType;
using format::BlockView;
using format::Column;
using format::ColumnDecoder;

// What a definition takes in memory, in slices.
constexpr uint64_t kDefinitionWeight = 16;

constexpr uint32_t kNoProcess = UINT32_MAX;

// Decodes columns one after the other and keeps the first error.
class Columns {
 public:
  Columns(const BlockView& block, ColumnDecoder& decoder) : block_(block), decoder_(decoder) {}

  template <typename T>
  std::vector<T> get(Column column) {
    std::vector<T> values;
    if (status_) status_ = decoder_.decode_rows(block_, column, values);
    return values;
  }
  template <typename T>
  std::vector<T> get_or(Column column, T fallback) {
    std::vector<T> values;
    if (status_) status_ = decoder_.decode_rows_or(block_, column, fallback, values);
    return values;
  }
  format::TextColumn texts(Column column) {
    format::TextColumn texts;
    if (status_) status_ = decoder_.decode_text(block_, column, texts);
    if (status_ && texts.size() != block_.rows()) {
      status_ = Status::error("a text column has not one value per row");
    }
    return texts;
  }
  const Status& status() const { return status_; }

 private:
  const BlockView& block_;
  ColumnDecoder& decoder_;
  Status status_;
};

template <typename Id>
std::span<Id> one(Id& id) {
  return {&id, 1};
}

}  // namespace

bool DefinitionReader::reads(BlockType type) {
  switch (type) {
    case BlockType::kMetadata:
    case BlockType::kStrings:
    case BlockType::kLabels:
    case BlockType::kProcesses:
    case BlockType::kTracks:
    case BlockType::kDevices:
    case BlockType::kFrames:
    case BlockType::kStacks:
    case BlockType::kStats:
      return true;
    default:
      return false;
  }
}

Status DefinitionReader::read(const BlockView& block, ColumnDecoder& decoder) {
  if (Status status = budget_.take(block.header(), kDefinitionWeight); !status) return status;
  switch (block.header().type) {
    case BlockType::kMetadata:
      return read_metadata(block, decoder);
    case BlockType::kStrings:
      return read_strings(block, decoder);
    case BlockType::kLabels:
      return read_labels(block, decoder);
    case BlockType::kProcesses:
      return read_processes(block, decoder);
    case BlockType::kTracks:
      return read_tracks(block, decoder);
    case BlockType::kDevices:
      return read_devices(block, decoder);
    case BlockType::kFrames:
      return read_frames(block, decoder);
    case BlockType::kStacks:
      return read_stacks(block, decoder);
    case BlockType::kStats:
      return read_stats(block, decoder);
    default:
      return Status::error("defines nothing");
  }
}

// The id of the block's row 0. An id far beyond what is defined would have to come from lost
// blocks, and takes as much of the budget as these would have.
Result<uint32_t> DefinitionReader::first_id(const BlockView& block, ColumnDecoder& decoder,
                                            size_t defined) {
  const auto first = decoder.decode_one<uint64_t>(block, Column::kFirstId);
  if (!first) return first.status();
  if (*first > format::kNoneU32 - block.rows()) return Status::error("ids beyond 32 bits");
  if (*first > defined) {
    if (Status status = budget_.take(*first - defined); !status) return status;
  }
  return static_cast<uint32_t>(*first);
}

void DefinitionReader::count_lost(uint64_t count) {
  ids_lost_ += count;
  count_skipped(count);
}

Status DefinitionReader::read_strings(const BlockView& block, ColumnDecoder& decoder) {
  const auto first = first_id(block, decoder, strings_.size());
  if (!first) return first.status();
  Columns columns(block, decoder);
  const format::TextColumn texts = columns.texts(Column::kText);
  if (!columns.status()) return columns.status();
  std::vector<StringId> ids;
  ids.reserve(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) ids.push_back(builder_.string(texts[i]));
  const bool loses = *first > strings_.size();
  count_lost(strings_.define(*first, ids, loses ? unknown_string() : kEmptyString));
  return {};
}

Status DefinitionReader::read_labels(const BlockView& block, ColumnDecoder& decoder) {
  const auto first = first_id(block, decoder, labels_.size());
  if (!first) return first.status();
  Columns columns(block, decoder);
  auto names = columns.get<StringId>(Column::kName);
  auto categories = columns.get_or<StringId>(Column::kCategory, kEmptyString);
  const auto kinds = columns.get_or<uint8_t>(Column::kKind, 0);
  if (!columns.status()) return columns.status();
  translate(names);
  translate(categories);
  std::vector<LabelId> ids;
  ids.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const bool known = kinds[i] < kSliceKindCount;
    if (!known) count_skipped(1);
    const auto kind = known ? static_cast<SliceKind>(kinds[i]) : SliceKind::kOther;
    ids.push_back(builder_.labels().intern({names[i], categories[i], kind}));
  }
  const bool loses = *first > labels_.size();
  count_lost(labels_.define(*first, ids, loses ? unknown_label() : LabelId{0}));
  return {};
}

Status DefinitionReader::read_processes(const BlockView& block, ColumnDecoder& decoder) {
  Columns columns(block, decoder);
  const auto ids = columns.get<uint32_t>(Column::kId);
  const auto numbers = columns.get_or<int64_t>(Column::kNumber, 0);
  auto texts = columns.get_or<StringId>(Column::kNumberText, kEmptyString);
  auto names = columns.get_or<StringId>(Column::kName, kEmptyString);
  auto labels = columns.get_or<StringId>(Column::kProcessLabels, kEmptyString);
  const auto sorts = columns.get_or<int64_t>(Column::kSortIndex, 0);
  const auto flags = columns.get_or<uint8_t>(Column::kFlags, 0);
  if (!columns.status()) return columns.status();
  translate(texts);
  translate(names);
  translate(labels);
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto [it, is_new] = processes_.try_emplace(ids[i], 0);
    if (knows_all_) {
      it->second = find_known_process(numbers[i]).value_or(kNoProcess);
      continue;
    }
    if (is_new) {
      if (const auto known = find_known_process(numbers[i])) {
        it->second = *known;
        joined_processes_[ids[i]] = builder_.process(*known).name != kEmptyString;
      } else {
        it->second = builder_.add_new_process({numbers[i], texts[i]});
      }
    }
    Process& process = builder_.process(it->second);
    if (const auto joined = joined_processes_.find(ids[i]); joined != joined_processes_.end()) {
      if (!joined->second) process.name = names[i];
      continue;
    }
    process.name = names[i];
    process.labels = labels[i];
    process.sort_index = sorts[i];
    process.has_sort_index = (flags[i] & kHasSortIndex) != 0;
  }
  return {};
}

Status DefinitionReader::read_tracks(const BlockView& block, ColumnDecoder& decoder) {
  Columns columns(block, decoder);
  const auto ids = columns.get<uint32_t>(Column::kId);
  const auto kinds = columns.get_or<uint8_t>(Column::kKind, 0);
  const auto processes = columns.get_or<uint32_t>(Column::kProcess, 0);
  const auto numbers = columns.get_or<int64_t>(Column::kNumber, 0);
  auto texts = columns.get_or<StringId>(Column::kNumberText, kEmptyString);
  auto names = columns.get_or<StringId>(Column::kName, kEmptyString);
  auto series = columns.get_or<StringId>(Column::kSeries, kEmptyString);
  auto units = columns.get_or<StringId>(Column::kUnit, kEmptyString);
  const auto devices = columns.get_or<int32_t>(Column::kDevice, -1);
  const auto streams = columns.get_or<int64_t>(Column::kDeviceStream, -1);
  const auto sorts = columns.get_or<int64_t>(Column::kSortIndex, 0);
  const auto flags = columns.get_or<uint8_t>(Column::kFlags, 0);
  if (!columns.status()) return columns.status();
  translate(texts);
  translate(names);
  translate(series);
  translate(units);
  for (size_t i = 0; i < ids.size(); ++i) {
    Track track;
    const bool known = kinds[i] <= static_cast<uint8_t>(TrackKind::kCounter);
    if (!known) count_skipped(1);
    track.kind = known ? static_cast<TrackKind>(kinds[i]) : TrackKind::kThread;
    track.process = process(processes[i]);
    track.tid = {numbers[i], texts[i]};
    if (knows_all_) {
      tracks_.insert_or_assign(ids[i], find_known_track(track).value_or(kNoTrack));
      continue;
    }
    track.name = names[i];
    track.series = series[i];
    track.unit = units[i];
    track.device = devices[i];
    track.stream = streams[i];
    track.sort_index = sorts[i];
    track.has_sort_index = (flags[i] & kHasSortIndex) != 0;
    const bool has_own_name = (flags[i] & kHasOwnName) != 0 && track.name != kEmptyString;
    const auto it = tracks_.find(ids[i]);
    if (const auto joined = joined_tracks_.find(ids[i]); joined != joined_tracks_.end()) {
      if (has_own_name || !joined->second) builder_.track(it->second).name = track.name;
    } else if (it != tracks_.end()) {
      builder_.track(it->second) = track;
    } else if (const auto same_track = find_known_track(track)) {
      Track& same = builder_.track(*same_track);
      joined_tracks_[ids[i]] = same.name != kEmptyString;
      if (has_own_name || same.name == kEmptyString) same.name = track.name;
      tracks_.emplace(ids[i], *same_track);
    } else {
      tracks_.emplace(ids[i], builder_.add_track(track));
    }
  }
  return {};
}

Status DefinitionReader::read_devices(const BlockView& block, ColumnDecoder& decoder) {
  Columns columns(block, decoder);
  auto names = columns.get_or<StringId>(Column::kName, kEmptyString);
  translate(names);
  std::vector<Device> devices(block.rows());
  for (const auto& [column, member] : kDeviceFigures) {
    const auto values = columns.get_or<int64_t>(column, 0);
    if (!columns.status()) return columns.status();
    for (size_t i = 0; i < devices.size(); ++i) devices[i].*member = values[i];
  }
  for (size_t i = 0; i < devices.size(); ++i) {
    devices[i].name = names[i];
    builder_.add_device(devices[i]);
  }
  return {};
}

Status DefinitionReader::read_metadata(const BlockView& block, ColumnDecoder& decoder) {
  Columns columns(block, decoder);
  const auto keys = columns.texts(Column::kKeyText);
  const auto values = columns.texts(Column::kValueText);
  const auto flags = columns.get_or<uint8_t>(Column::kFlags, 0);
  if (!columns.status()) return columns.status();
  for (size_t i = 0; i < keys.size(); ++i) {
    if ((flags[i] & kMetadataOfFile) == 0) {
      builder_.add_metadata(keys[i], values[i], (flags[i] & kMetadataIsJson) != 0);
    } else if (Status status = read_file_metadata(keys[i], values[i]); !status) {
      return status;
    }
  }
  return {};
}

Status DefinitionReader::read_file_metadata(std::string_view key, std::string_view value) {
  if (key == kFormatKey) builder_.set_format(std::string(value));
  if (key != kClockBaseKey) return {};
  int64_t base_ns = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), base_ns);
  if (error != std::errc() || end != value.data() + value.size()) {
    return Status::error("its clock base is no number");
  }
  builder_.set_clock_base_ns(base_ns);
  return {};
}

Status DefinitionReader::read_frames(const BlockView& block, ColumnDecoder& decoder) {
  const auto first = first_id(block, decoder, frames_.size());
  if (!first) return first.status();
  Columns columns(block, decoder);
  auto names = columns.get<StringId>(Column::kName);
  auto files = columns.get_or<StringId>(Column::kFile, kEmptyString);
  const auto lines = columns.get_or<int32_t>(Column::kLine, 0);
  if (!columns.status()) return columns.status();
  translate(names);
  translate(files);
  std::vector<FrameId> ids;
  ids.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    ids.push_back(builder_.add_frame({names[i], files[i], lines[i]}));
  }
  const bool loses = *first > frames_.size();
  count_lost(frames_.define(*first, ids, loses ? unknown_frame() : kNoFrame));
  return {};
}

Status DefinitionReader::read_stacks(const BlockView& block, ColumnDecoder& decoder) {
  const auto first = first_id(block, decoder, stacks_.size());
  if (!first) return first.status();
  Columns columns(block, decoder);
  const auto parents = columns.get<StackId>(Column::kParent);
  auto frames = columns.get<FrameId>(Column::kFrame);
  const auto lines = columns.get_or<int32_t>(Column::kLine, 0);
  if (!columns.status()) return columns.status();
  translate(frames);
  if (*first > stacks_.size()) {
    const StackId unknown = builder_.add_stack({kNoStack, unknown_frame(), 0});
    count_lost(stacks_.define(*first, {}, unknown));
  }
  // One by one: a node's parent may be a row of the same block, always an earlier one.
  for (uint32_t i = 0; i < parents.size(); ++i) {
    StackId parent = parents[i];
    translate(one(parent));
    const StackId id = builder_.add_stack({parent, frames[i], std::max(0, lines[i])});
    stacks_.define(*first + i, std::span(&id, 1), kNoStack);
  }
  return {};
}

Status DefinitionReader::read_stats(const BlockView& block, ColumnDecoder& decoder) {
  Columns columns(block, decoder);
  const auto names = columns.texts(Column::kKeyText);
  const auto counts = columns.get<int64_t>(Column::kCount);
  if (!columns.status()) return columns.status();
  for (size_t i = 0; i < names.size(); ++i) {
    for (int s = 0; s < kStatCount; ++s) {
      const auto stat = static_cast<Stat>(s);
      if (stat_name(stat) != names[i] || stat_is_derived(stat) || counts[i] < 0) continue;
      builder_.stats().add(stat, static_cast<uint64_t>(counts[i]));
    }
  }
  if (!block.has(Column::kText)) return {};
  format::TextColumn notes;
  if (Status status = decoder.decode_text(block, Column::kText, notes); !status) return status;
  for (size_t i = 0; i < notes.size() && notes_.size() < Stats::kMaxNotes; ++i) {
    notes_.emplace_back(notes[i]);
  }
  return {};
}

void DefinitionReader::translate(std::span<StringId> ids) {
  count_skipped(strings_.translate(ids, [&] { return unknown_string(); }));
}

void DefinitionReader::translate(std::span<LabelId> ids) {
  count_skipped(labels_.translate(ids, [&] { return unknown_label(); }));
}

void DefinitionReader::translate(std::span<FrameId> ids) {
  for (FrameId& id : ids) {
    if (id == kNoFrame) continue;
    if (!frames_.has(id)) count_skipped(1);
    id = frames_.has(id) ? frames_.get(id) : unknown_frame();
  }
}

void DefinitionReader::translate(std::span<StackId> ids) {
  for (StackId& id : ids) {
    if (id == kNoStack) continue;
    if (!stacks_.has(id)) count_skipped(1);
    id = stacks_.has(id) ? stacks_.get(id) : kNoStack;
  }
}

void DefinitionReader::translate(std::span<TrackId> ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto found = find_track(index(ids[i]));
    if (knows_all_) {
      ids[i] = found.value_or(kNoTrack);
      continue;
    }
    if (!found && !lost_track_) {
      Track track;
      track.process = process(format::kNoneU32);
      track.name = unknown_string();
      lost_track_ = builder_.add_track(track);
    }
    if (!found) count_skipped(1);
    ids[i] = found ? *found : *lost_track_;
  }
}

std::optional<uint32_t> DefinitionReader::find_known_process(int64_t pid) const {
  return known_ == nullptr ? std::nullopt : known_->find_process(pid);
}

std::optional<TrackId> DefinitionReader::find_known_track(const Track& track) const {
  if (known_ == nullptr || track.kind != TrackKind::kThread) return std::nullopt;
  if (track.tid.text != kEmptyString) return std::nullopt;
  return known_->find_thread(track.process, track.tid.number);
}

StringId DefinitionReader::string(StringId file_id) {
  translate(one(file_id));
  return file_id;
}

LabelId DefinitionReader::label(LabelId file_id) {
  translate(one(file_id));
  return file_id;
}

std::optional<TrackId> DefinitionReader::find_track(uint32_t file_id) const {
  const auto it = tracks_.find(file_id);
  return it == tracks_.end() ? std::nullopt : std::optional(it->second);
}

TrackId DefinitionReader::track(uint32_t file_id) {
  if (const auto found = find_track(file_id)) return *found;
  count_skipped(1);
  Track track;
  track.process = process(format::kNoneU32);
  track.tid.number = file_id;
  track.name = unknown_string();
  const TrackId id = builder_.add_track(track);
  tracks_.emplace(file_id, id);
  return id;
}

uint32_t DefinitionReader::process(uint32_t file_id) {
  const auto [it, is_new] = processes_.try_emplace(file_id, kNoProcess);
  if (is_new && !knows_all_) {
    count_skipped(1);
    it->second = builder_.add_process({0, unknown_string()});
  }
  return it->second;
}

}  // namespace stepscope
