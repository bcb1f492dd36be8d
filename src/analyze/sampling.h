// Operators that were recorded only now and then (collect/torch/sampling_windows.h): what counts
// and times are to be divided by.
#pragma once

#include "trace/trace.h"

namespace stepscope {

// The category of the slices that tell of it: the outer ones of the sampling as a whole, those
// inside of windows.
inline constexpr std::string_view kSamplingCategory = "sampling";

// The share of the time in which operators were recorded; 1: all of it.
double operator_share(const Trace& trace);

}  // namespace stepscope
