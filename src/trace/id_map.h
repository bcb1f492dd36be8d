// IdMap: from the ids of a file to the ids of the trace that is made of it. They are the same as
// long as nothing is lost or defined twice; then translating a column is one look for its greatest
// id.
//
//   IdMap<LabelId> labels;
//   labels.define(first_id, ids, unknown_label);     // the rows of a labels block
//   skipped += labels.translate(column, unknown_label);
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/ids.h"

namespace stepscope {

template <typename Id>
class IdMap {
 public:
  // The ids from `first` on mean `ids`. Ids before it that no block has defined (it was lost) mean
  // `unknown`; the result is how many there are. The caller bounds `first`.
  uint64_t define(uint32_t first, std::span<const Id> ids, Id unknown) {
    const uint64_t lost = first > ids_.size() ? first - ids_.size() : 0;
    ids_.resize(std::max(ids_.size(), first + ids.size()), unknown);
    std::copy(ids.begin(), ids.end(), ids_.begin() + first);
    is_same_ &= lost == 0;
    for (size_t i = 0; is_same_ && i < ids.size(); ++i) is_same_ = index(ids[i]) == first + i;
    return lost;
  }

  size_t size() const { return ids_.size(); }
  bool has(Id file_id) const { return index(file_id) < ids_.size(); }
  Id get(Id file_id) const { return ids_[index(file_id)]; }

  // Whether every id is defined and translates to itself.
  bool is_same_for(std::span<const Id> file_ids) const {
    if (!is_same_) return false;
    uint32_t greatest = 0;
    for (const Id id : file_ids) greatest = std::max(greatest, index(id));
    return file_ids.empty() || greatest < ids_.size();
  }

  // In place; an id that is not defined becomes unknown(). The result is how many did.
  template <typename Unknown>
  uint64_t translate(std::span<Id> file_ids, Unknown&& unknown) const {
    if (is_same_for(file_ids)) return 0;
    uint64_t count = 0;
    for (Id& id : file_ids) {
      if (has(id)) {
        id = get(id);
      } else {
        id = unknown();
        ++count;
      }
    }
    return count;
  }

 private:
  std::vector<Id> ids_;
  bool is_same_ = true;
};

}  // namespace stepscope
