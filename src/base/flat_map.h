// FlatMap: 64-bit keys to 32-bit values, for inner loops. Open addressing with linear probing in
// one array; the key is mixed, so that neither counters nor a hostile file's ids make long runs.
//
//   FlatMap rows;
//   auto [row, is_new] = rows.try_emplace(key, next);   // row is a reference
//
// Slow equivalent: std::unordered_map<uint64_t, uint32_t>, at about five times the cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stepscope {

class FlatMap {
 public:
  struct Inserted {
    uint32_t& value;
    bool is_new;
  };

  // The reference is valid until the next insertion.
  Inserted try_emplace(uint64_t key, uint32_t value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[find_slot(key)];
    const bool is_new = !slot.is_used;
    if (is_new) {
      slot = {key, value, true};
      ++size_;
    }
    return {slot.value, is_new};
  }
  const uint32_t* find(uint64_t key) const {
    if (size_ == 0) return nullptr;
    const Slot& slot = slots_[find_slot(key)];
    return slot.is_used ? &slot.value : nullptr;
  }
  size_t size() const { return size_; }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t value = 0;
    bool is_used = false;
  };

  static uint64_t mix(uint64_t key) {
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93u;
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93u;
    return key ^ key >> 32;
  }
  size_t find_slot(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = mix(key) & mask;
    while (slots_[at].is_used && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.is_used) slots_[find_slot(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two
  size_t size_ = 0;
};

}  // namespace stepscope
