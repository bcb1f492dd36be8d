// The training steps of a trace, as TensorBoard's plugin delimits them. A step begins where the
// program's own step scope begins (ProfilerStep#5), but not before the previous one is over, and
// reaches to the end of the device work that was launched in it, so that times add up on the device
// too. In detail:
//
// - Work belongs to the step that holds the whole runtime call that launched it. Work whose call is
//   partly outside a step belongs to none.
// - Work from before the first step delays that step's begin until it is over, if it ends before
// the
//   first step's own work begins.
// - The last steps are left out where the recording ended before their device work did: those
// without
//   any, and one with less than 0.8 times the pieces of work of the step before.
// - Without any device work a step is the program's scope, unchanged.
// - Several ranks in one trace have steps of their own, and so may threads: the steps are those of
//   one process, of the training thread where that has any. Scopes of its other threads are steps
//   where they are for most of their time beside those.
// - A TPU's profile without step scopes has the steps of its device.
// - A trace without these has the steps that its optimizers show (found_steps.h), or is
// divided
//   by its requests for input (input_pipelines.h). Without these either it is one step, from its
//   first operator's begin to the last one's end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyze/intervals.h"
#include "trace/trace.h"

namespace stepscope {

enum class StepOrigin : uint8_t {
  kScopes,      // the program's own
  kOptimizers,  // found from the loop of optimizer steps
  kRequests,    // from one request of a tf.data pipeline to the next
  kWhole,       // all operators are one step
};

struct Step {
  int64_t number = 0;    // 5 of ProfilerStep#5; the position where the name has none
  Interval scope;        // the program's, or what was found
  uint32_t process = 0;  // kScopes: whose scope it is
  Interval span;         // with its device work
  uint64_t device_slices = 0;
};

// The program's own step scopes, by time; spans are not set.
std::vector<Step> find_step_scopes(const Trace& trace);

struct StepSpans {
  std::vector<Step> steps;  // by time
  uint64_t left_out = 0;    // at the end, for want of device work
  StepOrigin origin = StepOrigin::kScopes;
  // Whose own steps are not among these: processes, and threads of the one whose steps these are.
  uint64_t other_ranks = 0;
  uint64_t other_threads = 0;

  // Those of a trace, found once.
  static std::shared_ptr<const StepSpans> of(const Trace& trace);
  // From the first step's begin to the last one's end; empty where there are no steps.
  Interval window() const;
  // What a reader of a table of steps must know.
  std::vector<std::string> notes() const;
};

}  // namespace stepscope
