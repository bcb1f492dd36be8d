#include "collect/recorder/definitions.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "format/record.h"

namespace stepscope {
namespace {

using format::BlockBuilder;
using format::BlockType;
using format::Column;
using format::JournalEntry;
using format::JournalEntryType;
using format::JournalHeader;

constexpr uint32_t kJournalRoom = format::kJournalBytes - sizeof(JournalHeader);
constexpr uint8_t kCounterTrack = 3;  // docs/format.md, "Track kinds"
constexpr size_t kMaxTextBytes = 4096;
constexpr size_t kRoomForThreads = 16'384;  // of a journal, which names leave free

uint32_t entry_bytes(size_t text_bytes) {
  return static_cast<uint32_t>(align_to_8(sizeof(JournalEntry) + text_bytes));
}

}  // namespace

bool Journals::has_room(size_t bytes) const {
  return current().committed.load(std::memory_order_relaxed) + bytes <= kJournalRoom;
}

void Journals::append(const JournalEntry& entry, std::string_view text) {
  JournalHeader& journal = current();
  const uint32_t at = journal.committed.load(std::memory_order_relaxed);
  auto* to = reinterpret_cast<uint8_t*>(&journal + 1) + at;
  std::memset(to, 0, entry.bytes);
  std::memcpy(to, &entry, sizeof(entry));
  if (!text.empty()) std::memcpy(to + sizeof(entry), text.data(), text.size());
  journal.committed.store(at + entry.bytes, std::memory_order_release);
}

bool Journals::is_half_full() const { return !has_room(kJournalRoom / 2); }

bool Journals::turn() {
  const uint32_t other = 1 - current_;
  if (journals_[other]->committed.load(std::memory_order_relaxed) != 0) return false;
  current_ = other;
  return true;
}

void Journals::clear_other() {
  JournalHeader& journal = *journals_[1 - current_];
  const uint64_t generation = journal.generation.load(std::memory_order_relaxed);
  journal.generation.store(generation + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  journal.committed.store(0, std::memory_order_relaxed);
  journal.generation.store(generation + 2, std::memory_order_release);
}

Definitions::Definitions() {
  add({.type = JournalEntryType::kString}, "");
  label("(name not recorded)", "", 0);
}

Definitions::Definitions(const Definitions& parent) {
  const uint32_t count = parent.count_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    const Entry& entry = parent.at(i);
    slot(i) = entry;  // the text too: it stays where the parent had it
    index(entry);
    count_.store(i + 1, std::memory_order_release);
  }
}

uint32_t Definitions::label(std::string_view name, std::string_view category, uint8_t kind) {
  name = name.substr(0, kMaxTextBytes);
  category = category.substr(0, kMaxTextBytes);
  const std::lock_guard lock(mutex_);
  const auto known = label_ids_.find({find_string(name), find_string(category), kind});
  if (known != label_ids_.end()) return known->second;
  if (!has_room_for(2, name.size() + category.size())) return 0;
  const Key key{string(name), string(category), kind};
  if (labels_ > format::kRecordValueMax) return 0;
  const uint32_t id = labels_;
  add({.type = JournalEntryType::kLabel,
       .kind = kind,
       .id = id,
       .name = key.name,
       .category = key.category},
      {});
  return id;
}

uint32_t Definitions::counter(std::string_view name, std::string_view series,
                              std::string_view unit) {
  name = name.substr(0, kMaxTextBytes);
  series = series.substr(0, kMaxTextBytes);
  unit = unit.substr(0, kMaxTextBytes);
  const std::lock_guard lock(mutex_);
  const auto known = counter_ids_.find({find_string(name), find_string(series), find_string(unit)});
  if (known != counter_ids_.end()) return known->second;
  if (!has_room_for(3, name.size() + series.size() + unit.size())) return 0;
  const Key key{string(name), string(series), string(unit)};
  const uint32_t id = tracks_;
  add({.type = JournalEntryType::kTrack,
       .kind = kCounterTrack,
       .id = id,
       .name = key.name,
       .category = key.category,
       .unit = key.third},
      {});
  return id;
}

uint32_t Definitions::string_id(std::string_view text) {
  text = text.substr(0, kMaxTextBytes);
  const std::lock_guard lock(mutex_);
  if (const uint32_t known = find_string(text); known != kUnknown) return known;
  return has_room_for(1, text.size()) ? string(text) : 0;
}

uint32_t Definitions::thread(std::string_view name, int64_t tid) {
  const std::lock_guard lock(mutex_);
  // Asked once in a thread's life: without a track all its records would be on none.
  if (journals_ != nullptr && !journals_->has_room(2 * entry_bytes(8) + name.size())) return 0;
  const uint32_t id = tracks_;
  add({.type = JournalEntryType::kTrack, .id = id, .name = string(name), .number = tid}, {});
  return id;
}

void Definitions::rename_thread(uint32_t track, std::string_view name, int64_t tid) {
  name = name.substr(0, kMaxTextBytes);
  const std::lock_guard lock(mutex_);
  if (!has_room_for(1, name.size())) return;
  add({.type = JournalEntryType::kTrack, .id = track, .name = string(name), .number = tid}, {});
}

void Definitions::attach(Journals* journals, std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  journals_ = journals;
  wake_ = std::move(wake);
  has_turned_ = false;
}

bool Definitions::wants_drain() const {
  const std::lock_guard lock(mutex_);
  return journals_ != nullptr && journals_->is_half_full();
}

bool Definitions::has_room_for(size_t strings, size_t text_bytes) const {
  return journals_ == nullptr ||
         journals_->has_room((strings + 1) * entry_bytes(8) + text_bytes + kRoomForThreads);
}

uint32_t Definitions::find_string(std::string_view text) const {
  const auto known = strings_.find(text);
  return known == strings_.end() ? kUnknown : known->second;
}

uint32_t Definitions::string(std::string_view text) {
  if (const uint32_t known = find_string(text); known != kUnknown) return known;
  const auto id = static_cast<uint32_t>(strings_.size());
  add({.type = JournalEntryType::kString, .id = id}, text);
  return id;
}

void Definitions::add(JournalEntry entry, std::string_view text) {
  entry.text_bytes = static_cast<uint32_t>(text.size());
  entry.bytes = entry_bytes(text.size());
  const uint32_t number = count_.load(std::memory_order_relaxed);
  Entry& kept = slot(number);
  kept.header = entry;
  kept.text = texts_.emplace_back(text).data();
  if (journals_ != nullptr) {
    journals_->append(entry, text);
    if (wake_ && journals_->is_half_full()) wake_();
  }
  index(kept);
  count_.store(number + 1, std::memory_order_release);
}

void Definitions::index(const Entry& entry) {
  const JournalEntry& header = entry.header;
  switch (header.type) {
    case JournalEntryType::kString:
      strings_.emplace(entry.view(), header.id);
      return;
    case JournalEntryType::kLabel:
      label_ids_.emplace(Key{header.name, header.category, header.kind}, header.id);
      labels_ = header.id + 1;
      return;
    case JournalEntryType::kTrack:
      if (header.kind == kCounterTrack) {
        counter_ids_.emplace(Key{header.name, header.category, header.unit}, header.id);
      }
      tracks_ = std::max(tracks_, header.id + 1);
      return;
  }
}

const Definitions::Entry& Definitions::at(uint32_t number) const {
  const auto block = static_cast<uint32_t>(std::bit_width(number / kFirstBlock + 1) - 1);
  return blocks_[block][number - kFirstBlock * ((uint32_t{1} << block) - 1)];
}

Definitions::Entry& Definitions::slot(uint32_t number) {
  const auto block = static_cast<uint32_t>(std::bit_width(number / kFirstBlock + 1) - 1);
  if (blocks_[block] == nullptr) {
    blocks_[block] = std::make_unique<Entry[]>(size_t{kFirstBlock} << block);
  }
  return const_cast<Entry&>(at(number));
}

uint32_t Definitions::begin_writing() {
  const std::lock_guard lock(mutex_);
  // After a write that failed they have turned already, and the other one waits for this write.
  if (journals_ != nullptr && !has_turned_) has_turned_ = journals_->turn();
  return count_.load(std::memory_order_relaxed);
}

void Definitions::written() {
  const std::lock_guard lock(mutex_);
  if (journals_ != nullptr && has_turned_) journals_->clear_other();
  has_turned_ = false;
}

Status Definitions::write(format::BlockWriter& writer, uint32_t from, uint32_t to) const {
  constexpr uint32_t kPerBlock = 16'384;
  constexpr uint64_t kTextPerBlock = uint64_t{4} << 20;
  while (from < to) {
    uint32_t end = from;
    for (uint64_t bytes = 0; end < to && end - from < kPerBlock && bytes < kTextPerBlock; ++end) {
      bytes += at(end).header.text_bytes;
    }
    if (Status status = write_block(writer, from, end); !status) return status;
    from = end;
  }
  return {};
}

// At most one block of each type.
Status Definitions::write_block(format::BlockWriter& writer, uint32_t from, uint32_t to) const {
  uint32_t first_string = 0, first_label = 0;
  std::vector<std::string_view> texts;
  std::vector<uint32_t> label_names, label_categories;
  std::vector<uint8_t> label_kinds, track_kinds;
  std::vector<uint32_t> track_ids, track_names, track_series, track_units;
  std::vector<int64_t> track_numbers;
  for (uint32_t i = from; i < to; ++i) {
    const Entry& entry = at(i);
    const JournalEntry& header = entry.header;
    switch (header.type) {
      case JournalEntryType::kString:
        if (texts.empty()) first_string = header.id;
        texts.push_back(entry.view());
        break;
      case JournalEntryType::kLabel:
        if (label_names.empty()) first_label = header.id;
        label_names.push_back(header.name);
        label_categories.push_back(header.category);
        label_kinds.push_back(header.kind);
        break;
      case JournalEntryType::kTrack:
        track_ids.push_back(header.id);
        track_kinds.push_back(header.kind);
        track_numbers.push_back(header.number);
        track_names.push_back(header.name);
        track_series.push_back(header.category);
        track_units.push_back(header.unit);
        break;
    }
  }
  const auto rows = [](const auto& column) { return static_cast<uint32_t>(column.size()); };
  if (!texts.empty()) {
    BlockBuilder block(BlockType::kStrings, rows(texts));
    block.add_one<uint64_t>(Column::kFirstId, first_string).add_text(Column::kText, texts);
    if (Status status = writer.write(block); !status) return status;
  }
  if (!label_names.empty()) {
    BlockBuilder block(BlockType::kLabels, rows(label_names));
    block.add_one<uint64_t>(Column::kFirstId, first_label)
        .add<uint32_t>(Column::kName, label_names)
        .add<uint32_t>(Column::kCategory, label_categories)
        .add<uint8_t>(Column::kKind, label_kinds);
    if (Status status = writer.write(block); !status) return status;
  }
  if (track_ids.empty()) return {};
  BlockBuilder block(BlockType::kTracks, rows(track_ids));
  block.add<uint32_t>(Column::kId, track_ids)
      .add<uint8_t>(Column::kKind, track_kinds)
      .add<int64_t>(Column::kNumber, track_numbers)
      .add<uint32_t>(Column::kName, track_names)
      .add<uint32_t>(Column::kSeries, track_series)
      .add<uint32_t>(Column::kUnit, track_units);
  return writer.write(block);
}

}  // namespace stepscope
