// Samples as calls on a timeline: a function that is in samples that follow each other is one slice
// from the first to the end of the last. For pictures; how often it was called in between nobody
// knows.
//
//   if (trace.slices().size() == 0) draw(build_sampled_calls(trace));
#pragma once

#include "trace/trace.h"

namespace stepscope {

// A trace of the samples' tracks alone. Of stacks deeper than 64 levels the outer ones.
Trace build_sampled_calls(const Trace& trace);

}  // namespace stepscope
