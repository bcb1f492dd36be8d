#include "collect/recorder/slot_arena.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace stepscope {
namespace {

constexpr int kWipeOnFork = 18;  // MADV_WIPEONFORK, Linux 4.14
constexpr size_t kOwnerBytes = 4096;
constexpr size_t kBytes = kOwnerBytes + size_t{SlotArena::kSlots} * sizeof(ThreadSlot);

void* g_memory = nullptr;

void wipe_in_child() {
  ::mmap(g_memory, kBytes, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

}  // namespace

SlotArena* SlotArena::get() {
  static SlotArena arena;
  static const bool is_mapped = arena.map();
  return is_mapped ? &arena : nullptr;
}

bool SlotArena::map() {
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  g_memory = memory;
  if (::madvise(memory, kBytes, kWipeOnFork) != 0)
    ::pthread_atfork(nullptr, nullptr, wipe_in_child);
  owner_ = new (memory) std::atomic<uint32_t>(kOwned);
  slots_ = reinterpret_cast<ThreadSlot*>(static_cast<uint8_t*>(memory) + kOwnerBytes);
  return true;
}

ThreadSlot* SlotArena::take() {
  const uint32_t room = kSlots - first_;
  uint32_t at = hint_.load(std::memory_order_relaxed);
  for (uint32_t tries = 0; tries < room; ++tries, ++at) {
    const uint32_t number = first_ + at % room;
    ThreadSlot& slot = slots_[number];
    uint32_t expected = 0;
    if (!slot.is_taken.compare_exchange_strong(expected, 1, std::memory_order_acq_rel)) continue;
    hint_.store(at + 1, std::memory_order_relaxed);
    uint32_t high = high_water_.load(std::memory_order_relaxed);
    while (high < number + 1 &&
           !high_water_.compare_exchange_weak(high, number + 1, std::memory_order_acq_rel)) {
    }
    slot.number = number;
    return &slot;
  }
  return nullptr;
}

void SlotArena::give_back(ThreadSlot& slot) {
  slot.words = nullptr;
  slot.chunk = nullptr;
  slot.count = 0;
  slot.limit.store(0, std::memory_order_relaxed);
  slot.recording = 0;
  hint_.store(slot.number - first_, std::memory_order_relaxed);
  slot.is_taken.store(0, std::memory_order_release);
}

}  // namespace stepscope
