// SliceRanges: which slices of a file became which slices of the trace that is being built. Blocks
// of slices come in order of their ids; as long as none is lost they all make one range.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/ids.h"

namespace stepscope {

class SliceRanges {
 public:
  // False where ids are used a second time; the slices can then not be told apart.
  bool add(uint32_t first_id, uint32_t count, uint32_t first_row) {
    if (count == 0) return true;
    if (!ranges_.empty()) {
      Range& last = ranges_.back();
      if (first_id < last.first_id + last.count) return false;
      if (first_id == last.first_id + last.count && first_row == last.first_row + last.count) {
        last.count += count;
        return true;
      }
    }
    ranges_.push_back({first_id, count, first_row});
    return true;
  }

  // kNoSlice where the slice was lost. O(log ranges).
  SliceId find(SliceId file_id) const {
    const auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), index(file_id),
                         [](uint32_t id, const Range& range) { return id < range.first_id; });
    if (after == ranges_.begin()) return kNoSlice;
    const Range& range = *(after - 1);
    const uint32_t offset = index(file_id) - range.first_id;
    return offset < range.count ? SliceId{range.first_row + offset} : kNoSlice;
  }

  // In place, for ids in ascending order. The result is how many were lost.
  uint64_t translate(std::span<SliceId> file_ids) const {
    if (file_ids.empty()) return 0;
    const SliceId first = find(file_ids.front());
    const SliceId last = find(file_ids.back());
    const uint32_t offset = index(first) - index(file_ids.front());
    if (first != kNoSlice && last != kNoSlice && offset == index(last) - index(file_ids.back()) &&
        ranges_.size() == 1) {
      if (offset == 0) return 0;
      for (SliceId& id : file_ids) id = SliceId{index(id) + offset};
      return 0;
    }
    uint64_t lost = 0;
    for (SliceId& id : file_ids) {
      id = find(id);
      lost += id == kNoSlice;
    }
    return lost;
  }

 private:
  struct Range {
    uint32_t first_id;
    uint32_t count;
    uint32_t first_row;
  };
  std::vector<Range> ranges_;
};

}  // namespace stepscope
