#include "advise/host_time.h"

namespace stepscope {

LabelId find_user_function(const Case& c, SliceId slice) {
  const SliceColumns& slices = c.trace.slices();
  for (; slice != kNoSlice; slice = slices.parent[index(slice)]) {
    const LabelId label = slices.label[index(slice)];
    if (c.user.is_user_function(label)) return label;
  }
  return LabelId{UINT32_MAX};
}

HostTime find_host_time(const Case& c, const std::function<bool(const Label&)>& is_wanted) {
  HostTime time;
  if (!c.work) return time;
  int64_t longest_ns = -1;
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    if (!is_wanted(c.trace.labels()[LabelId{i}])) continue;
    const LabelWork work = c.work->of(LabelId{i});
    time.ns += work.total_ns;
    time.count += work.calls;
    if (work.longest_ns <= longest_ns) continue;
    longest_ns = work.longest_ns;
    time.longest = work.longest;
  }
  if (time.longest != kNoSlice) time.function = find_user_function(c, time.longest);
  return time;
}

}  // namespace stepscope
