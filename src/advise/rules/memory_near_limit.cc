// memory-near-limit: tensors take nearly all of a device's memory at their peak: the next larger
// batch, or fragmentation, ends the program.
#include <algorithm>
#include <map>

#include "advise/finding_text.h"
#include "advise/host_time.h"
#include "advise/rules.h"
#include "analyze/text_value.h"

namespace stepscope {
namespace memory_near_limit {

constexpr double kNear = 0.9;

struct Peak {
  int64_t now_bytes = 0;
  int64_t bytes = 0;
  size_t row = 0;  // of the allocations
};

}  // namespace memory_near_limit

void check_memory_near_limit(const Case& c, Findings& found) {
  using namespace memory_near_limit;
  const AllocationColumns& all = c.trace.allocations();
  if (c.trace.devices().empty()) return;
  std::map<int16_t, Peak> peaks;  // by device
  for (size_t row = 0; row < all.time_ns.size(); ++row) {
    if (all.device_type[row] == 0) continue;
    Peak& peak = peaks[all.device_id[row]];
    // Where the file has no totals, what was taken since its begin is all that is known.
    if (__builtin_add_overflow(peak.now_bytes, all.bytes[row], &peak.now_bytes)) continue;
    if (all.total_allocated_bytes[row] >= 0) peak.now_bytes = all.total_allocated_bytes[row];
    if (peak.now_bytes <= peak.bytes) continue;
    peak.bytes = peak.now_bytes;
    peak.row = row;
  }
  for (const Device& device : c.trace.devices()) {
    const auto peak = std::find_if(peaks.begin(), peaks.end(),
                                   [&](const auto& entry) { return entry.first == device.id; });
    if (peak == peaks.end() || device.total_memory_bytes <= 0) continue;
    const double share =
        static_cast<double>(peak->second.bytes) / static_cast<double>(device.total_memory_bytes);
    if (share <= kNear) continue;

    Finding finding;
    finding.id = "memory-near-limit";
    finding.severity = Severity::kWarning;
    finding.title = "tensors take " + in_percent(share) + " of the memory of device " +
                    std::to_string(device.id) +
                    " at their peak: " + text_of_bytes(peak->second.bytes) + " of " +
                    text_of_bytes(device.total_memory_bytes);
    const SliceId slice = all.slice[peak->second.row];
    if (slice != kNoSlice) {
      finding.slices = {slice};
      const LabelId function = find_user_function(c, slice);
      if (function != LabelId{UINT32_MAX}) finding.where = c.place(function);
    }
    finding.figures = {{"peak", static_cast<double>(peak->second.bytes), Unit::kBytes},
                       {"memory", static_cast<double>(device.total_memory_bytes), Unit::kBytes},
                       {"of the memory", share, Unit::kFraction}};
    finding.fix =
        "Take a smaller batch and accumulate gradients, compute activations again instead of "
        "keeping them, or compute in mixed precision.";
    finding.code = "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)";
    found.push_back(std::move(finding));
  }
}

}  // namespace stepscope
