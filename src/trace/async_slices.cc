#include "trace/async_slices.h"

#include <algorithm>
#include <tuple>

namespace stepscope {

void AsyncSlices::finish(TraceBuilder& builder, int64_t last_ns) {
  // At one moment an end comes before the begin that uses its id again.
  std::stable_sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
    return std::tuple(a.id, a.time_ns, a.slice != kNoSliceRef) <
           std::tuple(b.id, b.time_ns, b.slice != kNoSliceRef);
  });
  for (size_t i = 0; i < points_.size(); ++i) {
    const Point& begin = points_[i];
    if (begin.slice == kNoSliceRef) {
      builder.stats().add(Stat::kEndsWithoutBegin);
      continue;
    }
    const bool has_end = i + 1 < points_.size() && points_[i + 1].id == begin.id &&
                         points_[i + 1].slice == kNoSliceRef;
    builder.set_dur_ns(begin.slice, (has_end ? points_[i + 1].time_ns : last_ns) - begin.time_ns);
    if (has_end) {
      ++i;
    } else {
      builder.stats().add(Stat::kSlicesOpenAtEnd);
    }
  }
  points_ = {};
}

}  // namespace stepscope
