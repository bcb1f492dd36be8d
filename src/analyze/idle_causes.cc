#include "analyze/idle_causes.h"

#include <algorithm>

namespace stepscope {

IdleCauses find_idle_causes(const Trace& trace, std::span<const DeviceSlice> work) {
  IdleCauses causes;
  if (work.empty()) return causes;
  int64_t end_ns = work.front().end_ns;
  for (const DeviceSlice& slice : work) {
    const int64_t gap_ns = slice.start_ns - end_ns;
    if (gap_ns > 0) {
      const bool is_host_wait =
          slice.call != kNoRow && trace.slices().start_ns[slice.call] > end_ns;
      int64_t& cause_ns = is_host_wait             ? causes.host_wait_ns
                          : gap_ns < kKernelWaitNs ? causes.kernel_wait_ns
                                                   : causes.other_ns;
      cause_ns += gap_ns;
    }
    end_ns = std::max(end_ns, slice.end_ns);
  }
  causes.span_ns = end_ns - work.front().start_ns;
  return causes;
}

}  // namespace stepscope
