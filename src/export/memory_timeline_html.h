// Writes the memory of a trace's devices by category over time as one HTML page that stands for
// itself: a picture per device with its peak marked, a legend with the figures of the peak or, with
// scripts, of the moment under the pointer. Light or dark as the reader's system is; no network.
//
// The page is bounded whatever the trace: MemoryCurve keeps what can be seen, and of many devices
// those with the highest peaks are drawn.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

// Fails where the trace has no allocations.
Result<std::vector<std::string>> write_memory_timeline_html(const Trace& trace,
                                                            const std::string& path);

}  // namespace stepscope
