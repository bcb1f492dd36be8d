// How long a program's steps wait for their input pipelines, and how busy it is meanwhile. Typical
// figures leave out what is chance: the first, and the slowest twentieth.
#pragma once

#include <vector>

#include "analyze/input_pipelines.h"
#include "trace/trace.h"

namespace stepscope {

// Of requests by time.
InputRequests describe_requests(const std::vector<Interval>& waits);

// Sets waits and busy_cores, from all else.
void find_step_waits(const Trace& trace, InputPipelines& input);

}  // namespace stepscope
