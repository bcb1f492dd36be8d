// One line that says what was wrong with a trace's file and what was done about it, for the foot of
// every table: "3 events skipped, 1,024 bytes lost where the file is cut short".
#pragma once

#include <string>

#include "trace/stats.h"

namespace stepscope {

// "" where there were no faults.
std::string fault_summary(const Stats& stats);

// What a sampler missed: "12 of 10,000 ticks of the sampler were missed". "" where it was nothing.
std::string sampler_summary(const Stats& stats);

}  // namespace stepscope
