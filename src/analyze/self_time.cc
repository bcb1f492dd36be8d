#include "analyze/self_time.h"

namespace stepscope {

std::vector<int64_t> build_self_ns(const Trace& trace) {
  const SliceColumns& slices = trace.slices();
  std::vector<int64_t> self_ns(slices.size());
  // A parent comes before its children.
  for (uint32_t row = 0; row < slices.size(); ++row) {
    const int64_t dur_ns = slices.dur_ns[row];
    self_ns[row] = dur_ns;
    if (slices.parent[row] != kNoSlice) self_ns[index(slices.parent[row])] -= dur_ns;
  }
  return self_ns;
}

}  // namespace stepscope
