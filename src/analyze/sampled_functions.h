// The functions of a sampled trace: what time, how many samples, and how sure. Made in one walk
// over the tree of stacks; a recursive function is counted once.
//
//   const SampledFunctions sampled = build_sampled_functions(trace, scope, SampledBy::kFunction);
//   for (const SampledFunction& function : sampled.functions) …
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/share_interval.h"
#include "analyze/table.h"
#include "base/status.h"
#include "trace/function_name.h"
#include "trace/slice_scope.h"
#include "trace/trace.h"

namespace stepscope {

enum class SampledBy : uint8_t {
  kFunction,
  kLine,  // a function at each of the lines at which it stood
};

// What samples add up to.
struct SampleSums {
  int64_t wall_ns = 0;
  int64_t cpu_ns = 0;        // of samples whose CPU time is known
  int64_t weight_ns = 0;     // CPU or wall time, as the scope asks
  uint64_t samples = 0;      // that count: by CPU those that did not wait
  uint64_t gil_samples = 0;  // of these: with the global lock
};

struct SampledFunction {
  FunctionName name;  // of the trace's strings; by line with that line
  SampleSums self;    // where it was innermost
  SampleSums total;
};

struct SampledFunctions {
  std::vector<SampledFunction> functions;
  SampleSums all;
  double effective_samples = 0;  // see share_interval_95()
  bool is_cpu = false;           // what weight_ns is
  bool fell_back = false;        // CPU time was asked for, and none was used
  bool has_cpu = false;
  bool has_gil = false;
  bool has_ticks = false;  // a sampler of ours took them: each tick is a sample

  double share(const SampledFunction& function) const;
};

SampledFunctions build_sampled_functions(const Trace& trace, const SliceScope& scope, SampledBy by);

// The view `functions` of a trace whose functions come from samples.
Result<Table> sampled_functions_table(const Trace& trace, const TableOptions& options);

// "times are CPU time, estimated from 9,876 samples": what a table of samples must say.
std::string sample_note(uint64_t samples, bool is_cpu_time);

}  // namespace stepscope
