// IdTable: a file's things by the ids that the file gave them. Ids that count up, as they do in
// practice, are places in a vector; a hostile file's 2^60 goes to a map. Memory goes with the
// number of things, never with an id.
//
//   IdTable<Metadata> table;
//   table.add(id, metadata);      // the last one of an id wins
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
    const auto place = static_cast<uint32_t>(things_.size());
    things_.push_back(std::move(thing));
    if (id < kDenseAhead + 4 * things_.size()) {
      if (id >= dense_.size()) dense_.resize(std::max<size_t>(id + 1, 2 * dense_.size()), kNone);
      dense_[id] = place;
    } else {
      sparse_.try_emplace(id, place).value = place;
    }
  }

  // Null where there is none. Valid until the next add().
  T* find(uint64_t id) {
    if (id < dense_.size() && dense_[id] != kNone) return &things_[dense_[id]];
    const uint32_t* place = sparse_.find(id);
    return place == nullptr ? nullptr : &things_[*place];
  }
  size_t size() const { return things_.size(); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint64_t kDenseAhead = 4096;

  std::vector<T> things_;
  std::vector<uint32_t> dense_;
  FlatMap sparse_;
};

}  // namespace stepscope
