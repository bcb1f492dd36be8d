// DeviceUse: what the devices did in the times of a case (its steady steps). Where work runs on
// several streams or devices at once, a moment counts for computation before communication, and
// for that before copies, as in the view `steps`.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "advise/case.h"
#include "analyze/intervals.h"

namespace stepscope {

struct DeviceUse {
  struct One {
    int32_t device = -1;
    int64_t busy_ns = 0;  // with at least one kernel
    int64_t kernel_ns = 0;
    uint64_t kernels = 0;
  };

  std::vector<One> devices;      // those with kernels, the busiest first
  IntervalSet busy;              // any work, of any device
  int64_t communication_ns = 0;  // with nothing computed meanwhile
  int64_t copy_ns = 0;           // with nothing else going on
  int64_t input_wait_ns = 0;     // of the training thread, with nothing going on on a device
  SliceId longest_communication = kNoSlice;
  SliceId longest_copy = kNoSlice;
  int64_t copies_ns = 0;  // of all copies, whatever else went on

  bool empty() const { return devices.empty(); }
  // Of the busiest device.
  double utilisation(const Case& c) const {
    return empty() || c.recorded_ns <= 0
               ? 0
               : static_cast<double>(devices.front().busy_ns) / static_cast<double>(c.recorded_ns);
  }

  // Found once for each trace.
  static std::shared_ptr<const DeviceUse> of(const Case& c);
};

// Whether most of the time in which no device works is waiting for input.
bool is_idle_for_input(const Case& c, const DeviceUse& use);

}  // namespace stepscope
