// Why a device or a stream did nothing between two pieces of work, by HolisticTraceAnalysis' rule:
//
//   host wait     launch ──▶ work   the work that ends the gap was launched after the gap had begun
//   kernel wait   gaps of less than 30 us otherwise: what a device takes to go on
//   other         all else: work was there and waited, for another stream, an event, a copy
#pragma once

#include <cstdint>
#include <span>

#include "analyze/device_slices.h"

namespace stepscope {

inline constexpr int64_t kKernelWaitNs = 30'000;

struct IdleCauses {
  int64_t span_ns = 0;  // from the first begin to the last end
  int64_t host_wait_ns = 0;
  int64_t kernel_wait_ns = 0;
  int64_t other_ns = 0;
  int64_t idle_ns() const { return host_wait_ns + kernel_wait_ns + other_ns; }
};

// `work` by begin; what overlaps leaves no gap.
IdleCauses find_idle_causes(const Trace& trace, std::span<const DeviceSlice> work);

}  // namespace stepscope
