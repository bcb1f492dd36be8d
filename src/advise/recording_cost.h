// What recording itself adds to a program, so that findings speak of the program without it.
// Measured in tight loops of calls and of operators, where findings of loops need it most: 33 ns
// for a call, 180 to 350 ns for an operator. In a cold cache it is more, and so is everything else.
#pragma once

#include <cstdint>

#include "analyze/calls_of_samples.h"
#include "trace/label.h"
#include "trace/trace.h"

namespace stepscope {

class RecordingCost {
 public:
  // Nothing is taken off traces of other tools: what these cost is not known. Of samples the number
  // of calls is not.
  explicit RecordingCost(const Trace& trace)
      : is_ours_(trace.format() == kRecordingFormat && !is_made_of_samples(trace)) {}

  int64_t of(SliceKind kind) const {
    if (!is_ours_) return 0;
    switch (kind) {
      case SliceKind::kPython:
        return 45;
      case SliceKind::kOperator:
        return 350;
      case SliceKind::kAnnotation:
        return 300;
      default:
        return 0;
    }
  }

 private:
  bool is_ours_;
};

}  // namespace stepscope
