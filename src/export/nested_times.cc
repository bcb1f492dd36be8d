#include "export/nested_times.h"

#include <algorithm>

#include "trace/torch_scopes.h"

namespace stepscope {
namespace {

// So that a file of nothing but overlaps costs no more than this for each.
constexpr size_t kMaxReach = 256;

}  // namespace

void NestedTimes::load(const Track& track) {
  const SliceColumns& slices = trace_.slices();
  first_row_ = track.first_slice;
  times_.clear();
  open_.clear();
  for (uint32_t at = 0; at < track.slice_count; ++at) {
    const uint32_t row = first_row_ + at;
    const Label& label = trace_.labels()[slices.label[row]];
    const bool is_scope = trace_.string(label.category) == kUserScopeCategory;
    times_.push_back({slices.start_ns[row], slices.end_ns(row), is_scope});
    open(at);
  }
}

void NestedTimes::open(uint32_t at) {
  Times& slice = times_[at];
  while (!open_.empty() && times_[open_.back()].end_ns <= slice.start_ns) open_.pop_back();
  while (!open_.empty() && times_[open_.back()].end_ns < slice.end_ns) {
    Times& outer = times_[open_.back()];
    if (outer.is_scope && !slice.is_scope) return open_later(at);
    if (outer.is_scope == slice.is_scope) {
      slice.end_ns = outer.end_ns;
    } else {
      outer.end_ns = slice.start_ns;
      open_.pop_back();
    }
  }
  open_.push_back(at);
}

// A call that outlives scopes waits below them on the stack, for what it does when they have ended.
void NestedTimes::open_later(uint32_t at) {
  Times& slice = times_[at];
  size_t place = open_.size();
  const auto outlives = [&](const Times& outer) {
    return outer.is_scope && outer.end_ns < slice.end_ns;
  };
  while (place > 0 && open_.size() - place < kMaxReach && outlives(times_[open_[place - 1]])) {
    --place;
  }
  slice.start_ns = times_[open_[place]].end_ns;
  if (place > 0) slice.end_ns = std::min(slice.end_ns, times_[open_[place - 1]].end_ns);
  open_.insert(open_.begin() + static_cast<ptrdiff_t>(place), at);
}

}  // namespace stepscope
