// LineTimes: what the lines of the program's own functions took, from samples. A look counts for
// the innermost function of the program's own on the stack, at the line where it stands: what
// libraries do for a line is part of it, and a comprehension is part of the function that it is in.
//
//   const LineTimes lines(trace, {});
//   for (const LineTime& line : lines.of({"augment", "/data.py", 24})) …     // most time first
//
// Looks at a sampled program, or those that were taken while its calls were recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/function_name.h"
#include "trace/ids.h"
#include "trace/slice_scope.h"
#include "trace/trace.h"

namespace stepscope {

struct LineTime {
  FrameId function = kNoFrame;
  int32_t line = 0;
  uint64_t looks = 0;
  int64_t python_ns = 0;   // with Python's global lock
  int64_t native_ns = 0;   // without it: C code that lets go of it, as PyTorch's operators do
  int64_t waiting_ns = 0;  // not running

  int64_t total_ns() const { return python_ns + native_ns + waiting_ns; }
};

class LineTimes {
 public:
  // The main thread of a process counts with its waiting, other threads while they run.
  LineTimes(const Trace& trace, const SliceScope& scope);

  // Most time first.
  const std::vector<LineTime>& all() const { return lines_; }
  std::vector<LineTime> of(const FunctionName& function) const;
  // Of all looks, also of those at libraries alone.
  int64_t total_ns() const { return total_ns_; }
  uint64_t looks() const { return looks_; }
  // Whether samples tell it: otherwise all is python_ns.
  bool knows_state() const { return knows_state_; }

 private:
  void add(const SampleColumns& samples, const SliceScope& scope);

  const Trace& trace_;
  std::vector<LineTime> lines_;
  int64_t total_ns_ = 0;
  uint64_t looks_ = 0;
  bool knows_state_ = false;
};

}  // namespace stepscope
