// SlotArena: the slots of all threads of this process, in memory that a forked child finds zeroed.
// No locks: a child may be forked while another thread is in here.
//
//   SlotArena& slots = SlotArena::get();
//   ThreadSlot* slot = slots.take();     // null: more than 65,536 threads at once
//   slots.give_back(*slot);
#pragma once

#include <atomic>
#include <cstdint>

#include "collect/recorder/thread_slot.h"

namespace stepscope {

class SlotArena {
 public:
  static constexpr uint32_t kSlots = 65'536;

  // States of a process, in the zeroed memory too.
  enum Owner : uint32_t {
    kForked = 0,  // a child that has not recorded yet
    kOwned = 1,
    kMoving = 2,  // a child of which one thread is about to start a recording
  };

  // Null where there is no memory for it.
  static SlotArena* get();

  ThreadSlot* take();
  void give_back(ThreadSlot& slot);
  std::atomic<uint32_t>& owner() { return *owner_; }
  // In a forked child: leaves alone all slots that the parent ever used. Its threads' pointers to
  // them live on in the child's memory, and must not lead to a slot of another thread.
  void move_on() { first_ = high_water_.load(std::memory_order_relaxed); }

  // Slots that may be in use: first() to end(). Look at is_taken.
  uint32_t first() const { return first_; }
  uint32_t end() const { return high_water_.load(std::memory_order_acquire); }
  ThreadSlot& at(uint32_t number) { return slots_[number]; }

 private:
  bool map();

  std::atomic<uint32_t>* owner_ = nullptr;
  ThreadSlot* slots_ = nullptr;
  uint32_t first_ = 0;
  std::atomic<uint32_t> hint_{0};
  std::atomic<uint32_t> high_water_{0};
};

}  // namespace stepscope
