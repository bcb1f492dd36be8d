#include "analyze/queue_lengths.h"

#include <algorithm>
#include <tuple>

namespace stepscope {

std::vector<QueueChange> find_queue_changes(const Trace& trace, const DeviceSlices& work,
                                            const DeviceStream& stream) {
  std::vector<QueueChange> changes;
  changes.reserve(size_t{stream.count} * 2);
  for (uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
    const DeviceSlice& slice = work.all()[i];
    if (slice.call == kNoRow) continue;
    const int64_t launch_ns = trace.slices().start_ns[slice.call];
    changes.push_back({launch_ns, 0, i, true});
    changes.push_back({std::max(launch_ns, slice.start_ns), 0, i, false});
  }
  std::sort(changes.begin(), changes.end(), [](const QueueChange& a, const QueueChange& b) {
    return std::tuple(a.time_ns, !a.is_launch, a.slice) <
           std::tuple(b.time_ns, !b.is_launch, b.slice);
  });
  int64_t length = 0;
  for (QueueChange& change : changes) {
    length += change.is_launch ? 1 : -1;
    change.length = length;
  }
  return changes;
}

}  // namespace stepscope
