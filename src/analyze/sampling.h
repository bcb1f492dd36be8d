// Operators that were recorded only now and then (collect/torch/sampling_windows.h): what counts
// and times are to be divided by.
#pragma once

#include <string_view>

#include "trace/trace.h"

namespace stepscope {

// Whether slices of that category are recorded only in windows: operators and the program's own
// scopes. The tracer's Python calls and phases are there all the time.
inline bool is_sampled(std::string_view category) {
  return category == "cpu_op" || category == "user_annotation";
}

// The share of the time in which operators were recorded; 1: all of it.
double operator_share(const Trace& trace);

}  // namespace stepscope
