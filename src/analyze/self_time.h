// Self time of every slice: its duration less the durations of its direct children. Kept nowhere in
// the trace, because one pass over the slices makes it.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

// By SliceId. Negative where children that overlap each other last longer together than their
// parent.
std::vector<int64_t> build_self_ns(const Trace& trace);

}  // namespace stepscope
