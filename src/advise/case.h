// Case: a trace under examination, and what the rules need to know of it, worked out once. Sums are
// over `times`: the steady steps, or the whole of a program without steps.
//
//   const Case c(trace);
//   if (c.share(c.input.wait_ns) > 0.05) …
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "advise/code_place.h"
#include "advise/cpu_use.h"
#include "advise/input_work.h"
#include "advise/step_work.h"
#include "analyze/calls_of_samples.h"
#include "analyze/phase_times.h"
#include "analyze/steady_steps.h"
#include "analyze/step_spans.h"
#include "analyze/training_thread.h"
#include "trace/trace.h"

namespace stepscope {

struct Case {
  explicit Case(const Trace& trace);

  const Trace& trace;
  std::shared_ptr<const TrainingThread> thread;
  std::shared_ptr<const StepSpans> spans;
  UserCode user;
  SteadySteps steady;
  IntervalSet times;
  int64_t recorded_ns = 0;   // of times
  int64_t recording_ns = 0;  // what of it the recording cost, as far as the training thread knows
  int64_t total_ns = 0;      // recorded_ns without recording_ns: shares are of this
  PhaseTimes phases{};       // of steady steps
  InputWork input;
  CpuUse cpu;
  // Of the training thread, or the busiest one; nothing where there is no thread.
  std::optional<StepWork> work;

  // Functions come from samples: how often they were called is not known, and of operators only
  // that some ran.
  bool is_sampled() const { return is_made_of_samples(trace); }
  bool has_steps() const { return !steady.empty(); }
  uint64_t steps() const { return has_steps() ? steady.steps.size() : 1; }
  double share(int64_t ns) const {
    return total_ns > 0 ? static_cast<double>(ns) / static_cast<double>(total_ns) : 0;
  }
  // Of a step, where there are any.
  int64_t per_step(int64_t ns) const { return ns / static_cast<int64_t>(steps()); }
  int64_t phase_ns(Phase phase) const { return phases[static_cast<size_t>(phase)]; }
  std::string place(LabelId label) const { return describe_place(trace, label); }
};

}  // namespace stepscope
