// How many pieces of work of a stream were launched and had not begun, over time. A launch adds
// one, the begin of the work takes one off; a graph's launch adds all that it starts. Work whose
// launch is not known is left out. Where clocks disagree and work begins before its launch, it
// counts as begun with it: a queue is never shorter than nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/device_slices.h"

namespace stepscope {

struct QueueChange {
  int64_t time_ns = 0;
  int64_t length = 0;  // from then on
  uint32_t slice = 0;  // into DeviceSlices::all()
  bool is_launch = false;
};

// By time; at one moment launches come first.
std::vector<QueueChange> find_queue_changes(const Trace& trace, const DeviceSlices& work,
                                            const DeviceStream& stream);

// CUDA lets so many launches wait; the next one blocks the host.
inline constexpr int64_t kFullQueue = 1024;

}  // namespace stepscope
