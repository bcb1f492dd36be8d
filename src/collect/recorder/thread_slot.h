// ThreadSlot: where the calling thread is writing. The one thing that the hot path touches besides
// the clock and the chunk.
//
// Slots lie in memory that a forked child finds zeroed, whatever way it was forked: there the limit
// is 0, the first record takes the slow path, and that one notices. So the hot path needs no test
// for it, and a child never writes into its parent's chunks.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/tick_clock.h"
#include "format/pool_layout.h"
#include "format/record.h"

namespace stepscope {

struct alignas(128) ThreadSlot {
  // Hot. Written by the owner alone, but for limit, which stop() sets to 0.
  uint64_t* words = nullptr;
  format::ChunkHeader* chunk = nullptr;
  uint64_t last_tick = 0;
  uint32_t count = 0;              // words in the chunk
  std::atomic<uint32_t> limit{0};  // 0: take the slow path
  // Cold.
  uint64_t words_before = 0;         // in earlier chunks of this thread
  std::atomic<uint64_t> dropped{0};  // since the last chunk
  uint32_t chunk_number = 0;
  uint32_t stream = 0;
  std::atomic<uint32_t> track{0};
  uint32_t context = 0;
  std::atomic<uint32_t> recording{0};  // the number of the recording that it belongs to; 0: none
  int32_t tid = 0;
  uint32_t number = 0;                // of the slot
  std::atomic<uint32_t> is_taken{0};  // 2 once the fields above are set
  std::atomic<uint32_t> is_busy{0};   // its thread is in the slow path
  uint32_t name_hash = 0;
  std::atomic<bool> has_own_name{false};  // set_thread_name() was called
};
static_assert(sizeof(ThreadSlot) == 128);

// A few bytes of static TLS: the model for which the compiler emits one instruction, and for which
// a library that is loaded late still finds room.
extern thread_local ThreadSlot* t_slot __attribute__((tls_model("initial-exec")));

// Room for a record and `words` words after it, or a dropped record. Returns null where nothing is
// to be recorded.
ThreadSlot* make_room(uint32_t words, uint64_t tick);

// As append_record(), of something that was at `tick`; best not before the thread's last record.
inline void append_record_at(uint64_t tick, format::RecordKind kind, uint32_t value,
                             const uint64_t* words = nullptr, uint32_t count = 0) {
  ThreadSlot* slot = t_slot;
  if (slot == nullptr || slot->count + count >= slot->limit.load(std::memory_order_relaxed) ||
      tick - slot->last_tick > UINT32_MAX) [[unlikely]] {
    slot = make_room(count, tick);
    if (slot == nullptr) return;
  }
  // A clock that went back a little between two cores: make_room() has set last_tick ahead.
  uint64_t* to = slot->words + slot->count;
  to[0] = format::pack_record(kind, value, static_cast<uint32_t>(tick - slot->last_tick));
  for (uint32_t i = 0; i < count; ++i) to[1 + i] = words[i];
  slot->last_tick = tick;
  slot->count += 1 + count;
  slot->chunk->committed.store(slot->count, std::memory_order_release);
}

// Appends a record, and `count` words that belong to it. Not for signal handlers: one that
// interrupts a record of its own thread might lose it.
inline void append_record(format::RecordKind kind, uint32_t value, const uint64_t* words = nullptr,
                          uint32_t count = 0) {
  append_record_at(read_ticks(), kind, value, words, count);
}

}  // namespace stepscope
