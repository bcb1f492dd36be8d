// IdTable: a file's things by the ids that the file gave them. Ids that count up, as they do in
// practice, are places in a vector; a hostile file's 2^60 goes to a map. Memory goes with the
// number of things, never with an id.
//
//   IdTable<Metadata> table;
//   table.add(id, metadata);      // the last one of an id wins
//   table.settle();               // after the last one
//   Metadata* found = table.find(id);
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/flat_map.h"

namespace stepscope {

template <typename T>
class IdTable {
 public:
  void add(uint64_t id, T thing) {
    ids_.push_back(id);
    things_.push_back(std::move(thing));
  }

  void settle() {
    const uint64_t end = kDenseAhead + 4 * ids_.size();
    uint64_t dense_end = 0;
    for (const uint64_t id : ids_) {
      if (id < end) dense_end = std::max(dense_end, id + 1);
    }
    dense_.assign(dense_end, kNone);
    for (uint32_t place = 0; place < ids_.size(); ++place) {
      if (ids_[place] < dense_end) {
        dense_[ids_[place]] = place;
      } else {
        sparse_.try_emplace(ids_[place], place).value = place;
      }
    }
    ids_ = {};
  }

  // Null where there is none.
  T* find(uint64_t id) {
    if (id < dense_.size() && dense_[id] != kNone) return &things_[dense_[id]];
    const uint32_t* place = sparse_.find(id);
    return place == nullptr ? nullptr : &things_[*place];
  }
  size_t size() const { return things_.size(); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint64_t kDenseAhead = 256;

  std::vector<uint64_t> ids_;  // by thing, until settle()
  std::vector<T> things_;
  std::vector<uint32_t> dense_;
  FlatMap sparse_;
};

}  // namespace stepscope
