#include "trace/flow_matcher.h"

#include <algorithm>
#include <utility>

namespace stepscope {

void FlowMatcher::finish(TraceBuilder& builder) {
  if (begins_.empty() && ends_.empty()) return;
  std::stable_sort(begins_.begin(), begins_.end(), [](const Point& a, const Point& b) {
    return std::pair(a.id, a.time_ns) < std::pair(b.id, b.time_ns);
  });
  const LabelId label = builder.label("flow", "flow", SliceKind::kOther);
  std::vector<uint8_t> is_used(begins_.size());
  for (const Point& end : ends_) {
    auto at =
        std::upper_bound(begins_.begin(), begins_.end(), end, [](const Point& a, const Point& b) {
          return std::pair(a.id, a.time_ns) < std::pair(b.id, b.time_ns);
        });
    // Threads' clocks may differ by a little: where no begin lies before, the first one after.
    if (at != begins_.begin() && (at - 1)->id == end.id) --at;
    const bool is_found = at != begins_.end() && at->id == end.id;
    if (is_found) is_used[static_cast<size_t>(at - begins_.begin())] = 1;
    if (!is_found || at->slice == kNoSliceRef || end.slice == kNoSliceRef) {
      builder.stats().add(Stat::kFlowsUnbound);
      continue;
    }
    builder.add_flow(at->slice, end.slice, at->time_ns, end.time_ns, end.id, label);
  }
  builder.stats().add(Stat::kFlowsUnbound,
                      static_cast<uint64_t>(std::count(is_used.begin(), is_used.end(), 0)));
  begins_ = {};
  ends_ = {};
}

}  // namespace stepscope
