// PoolForTests: the bytes of a pool, made by hand, for the tests and seeds of what reads it.
//
//   PoolForTests pool(file_id);
//   pool.journal(0, 2).string(3, "a").label(0, 3);
//   pool.chunk({.stream = 1, .first_word = 10}, {pack_record(RecordKind::kBegin, 0, 5)});
//   auto contents = read_pool(pool.bytes(), "pool");
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "format/pool_layout.h"

namespace stepscope::format {

struct ChunkForTests {
  uint64_t generation = 2;
  uint64_t first_word = 0;
  uint64_t first_tick = 0;
  uint64_t dropped = 0;
  uint32_t stream = 0;
  uint32_t track = 0;
  uint32_t context = 0;
  uint32_t is_used = 1;
};

class PoolForTests {
 public:
  explicit PoolForTests(uint64_t file_id, int64_t pid = 0, uint64_t start_time = 0)
      : bytes_(kChunksOffset) {
    PoolHeader header;
    store_le(bytes_.data(), header.magic);
    store_le(bytes_.data() + offsetof(PoolHeader, version), header.version);
    store_le(bytes_.data() + offsetof(PoolHeader, journal_bytes), header.journal_bytes);
    store_le(bytes_.data() + offsetof(PoolHeader, chunk_bytes), header.chunk_bytes);
    store_le(bytes_.data() + offsetof(PoolHeader, file_id), file_id);
    store_le(bytes_.data() + offsetof(PoolHeader, pid), pid);
    store_le(bytes_.data() + offsetof(PoolHeader, start_time), start_time);
  }

  std::vector<uint8_t>& bytes() { return bytes_; }

  void set_dropped(uint64_t records) {
    store_le(bytes_.data() + offsetof(PoolHeader, dropped), records);
  }

  // The entries that follow go into this journal.
  PoolForTests& journal(uint32_t number, uint64_t generation) {
    journal_ = kPoolHeaderBytes + number * kJournalBytes;
    store_le(bytes_.data() + journal_, generation);
    return *this;
  }
  PoolForTests& string(uint32_t id, std::string_view text) {
    JournalEntry entry;
    entry.type = JournalEntryType::kString;
    entry.id = id;
    entry.text_bytes = static_cast<uint32_t>(text.size());
    return add(entry, text);
  }
  PoolForTests& label(uint32_t id, uint32_t name) {
    JournalEntry entry;
    entry.type = JournalEntryType::kLabel;
    entry.id = id;
    entry.name = name;
    return add(entry, {});
  }
  PoolForTests& track(uint32_t id, uint32_t name, int64_t tid) {
    JournalEntry entry;
    entry.type = JournalEntryType::kTrack;
    entry.id = id;
    entry.name = name;
    entry.number = tid;
    return add(entry, {});
  }

  // At the end of the file; gives its offset.
  size_t chunk(const ChunkForTests& chunk, const std::vector<uint64_t>& words) {
    const size_t at = bytes_.size();
    bytes_.resize(at + kChunkBytes);
    uint8_t* to = bytes_.data() + at;
    store_le(to + offsetof(ChunkHeader, generation), chunk.generation);
    store_le(to + offsetof(ChunkHeader, first_word), chunk.first_word);
    store_le(to + offsetof(ChunkHeader, first_tick), chunk.first_tick);
    store_le(to + offsetof(ChunkHeader, dropped), chunk.dropped);
    store_le(to + offsetof(ChunkHeader, stream), chunk.stream);
    store_le(to + offsetof(ChunkHeader, track), chunk.track);
    store_le(to + offsetof(ChunkHeader, context), chunk.context);
    store_le(to + offsetof(ChunkHeader, is_used), chunk.is_used);
    store_le(to + offsetof(ChunkHeader, committed), static_cast<uint32_t>(words.size()));
    for (size_t i = 0; i < words.size(); ++i) {
      store_le(to + kChunkHeaderBytes + i * sizeof(uint64_t), words[i]);
    }
    store_le(bytes_.data() + offsetof(PoolHeader, chunk_count), ++chunk_count_);
    return at;
  }

 private:
  PoolForTests& add(JournalEntry entry, std::string_view text) {
    uint8_t* header = bytes_.data() + journal_;
    const auto used = load_le<uint32_t>(header + offsetof(JournalHeader, committed));
    entry.bytes = static_cast<uint32_t>(sizeof(entry) + align_to_8(text.size()));
    uint8_t* to = header + sizeof(JournalHeader) + used;
    store_le(to, entry);
    std::copy(text.begin(), text.end(), to + sizeof(entry));
    store_le(header + offsetof(JournalHeader, committed), used + entry.bytes);
    return *this;
  }

  std::vector<uint8_t> bytes_;
  size_t journal_ = kPoolHeaderBytes;
  uint32_t chunk_count_ = 0;
};

}  // namespace stepscope::format
