// CallsOfSamples: a sampled run as a trace of calls, for steps, phases and findings, which are
// worked out from slices. The threads, counters and metadata are those of the run, with the same
// ids; slices are the marks that were recorded (steps, PyTorch's scopes, garbage collection), and
// around and inside of them the functions of the samples that stand for each moment
// (sample_cells.h):
//
//   main > train > __next__ > [enumerate(DataLoader)#…] > _next_data > [fetch] > fetch > …
//
// In brackets: recorded marks, where PyTorch opens them; and what sampled_frames.h knows of
// functions. A sample of a thread that waited has "waiting" innermost, and, in programs that use
// PyTorch, one of a thread that ran without the global lock "native code": Python lets go of it for
// operators.
//
//   const Trace& seen = trace_with_calls(trace);        // the trace itself where it is not sampled
//
// How often something was called nobody knows: slices of functions are no calls.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "trace/ids.h"
#include "trace/trace.h"

namespace stepscope {

class CallsOfSamples {
 public:
  // That of a trace, made once. Null where the trace's functions do not come from a sampler.
  static std::shared_ptr<const CallsOfSamples> of(const Trace& trace);

  const Trace& trace() const { return trace_; }
  // The slice of the run that a slice here is; kNoSlice for what was made of samples.
  SliceId find_original(SliceId slice) const;

 private:
  explicit CallsOfSamples(Trace trace) : trace_(std::move(trace)) {}

  Trace trace_;
};

// The trace that steps, phases and findings see. Lives as long as `trace`.
const Trace& trace_with_calls(const Trace& trace);
// Whether it was made of samples.
bool is_made_of_samples(const Trace& trace);

// The category of what a thread that waits has innermost.
inline constexpr std::string_view kSampledWaitCategory = "sampled_wait";

}  // namespace stepscope
