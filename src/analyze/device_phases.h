// What devices did for a process, by phase: a kernel counts for the phase in which it was launched,
// whatever runs when it does.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "analyze/intervals.h"
#include "analyze/phase_times.h"
#include "trace/trace.h"

namespace stepscope {

// In order of precedence: computation hides communication, and both hide copies.
using DevicePhases = std::vector<std::pair<Phase, IntervalSet>>;

// `phase_at` gives the phase of the host at a moment. Work without a known launch is the host's.
// Empty where no device worked.
DevicePhases find_device_phases(const Trace& trace, uint32_t process,
                                const std::function<Phase(int64_t)>& phase_at);

}  // namespace stepscope
