// SteadySteps: the steps that a verdict is about. The first ones of a program (caches that are
// cold, memory that is taken for the first time, compilation) and what comes before them are told
// apart, so that a short script is judged by what a long one would do.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/intervals.h"
#include "analyze/step_spans.h"
#include "trace/trace.h"

namespace stepscope {

struct SteadySteps {
  std::vector<Step> steps;     // by time
  IntervalSet times;           // of their spans
  int64_t mean_ns = 0;         // of a step
  uint64_t warm_up_steps = 0;  // left out at the begin
  int64_t warm_up_ns = 0;      // what they took beyond the mean of the others
  int64_t start_up_ns = 0;     // from the trace's begin to the first step

  bool empty() const { return steps.empty(); }
  int64_t total_ns() const { return mean_ns * static_cast<int64_t>(steps.size()); }

  // Of real steps only: a trace without any has none.
  static SteadySteps find(const Trace& trace, const StepSpans& spans);
};

}  // namespace stepscope
