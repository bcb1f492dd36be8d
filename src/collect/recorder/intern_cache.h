// InternCache: the ids of things that a collector knows by their address (code objects, operator
// handles), found in a few instructions. Direct-mapped: an address has one place, and the last one
// that came there is in it; another one is looked up again, which costs time and nothing else.
//
//   InternCache<4096> codes;                           // per thread, or under the caller's lock
//   const uint32_t label = codes.find(code, [&] { return definitions.label(name_of(code), ...); });
//
// The caller sees to it that an address does not come to stand for something else (by holding a
// reference), or calls forget().
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace stepscope {

template <size_t kEntries>
class InternCache {
  static_assert(std::has_single_bit(kEntries));

 public:
  // `make` gives the id of a thing that is not here; 0 (no room for its name just now) is not kept.
  template <typename Make>
  uint32_t find(const void* thing, Make&& make) {
    Entry& entry = entries_[place(thing)];
    if (entry.thing == thing) [[likely]] {
      return entry.id;
    }
    const uint32_t id = make();
    if (id != 0) entry = {thing, id};
    return id;
  }

  void forget(const void* thing) {
    Entry& entry = entries_[place(thing)];
    if (entry.thing == thing) entry = {};
  }

 private:
  struct Entry {
    const void* thing = nullptr;
    uint32_t id = 0;
  };

  // Objects lie at multiples of 16 at least, and often of their size: the upper half of a product
  // depends on all bits.
  static size_t place(const void* thing) {
    const uint64_t mixed = (reinterpret_cast<uintptr_t>(thing) >> 4) * 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(mixed >> (64 - std::bit_width(kEntries - 1)));
  }

  std::array<Entry, kEntries> entries_{};
};

}  // namespace stepscope
