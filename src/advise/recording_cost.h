// What recording itself adds to a program, so that findings speak of the program without it.
// Measured with `make bench`; on a slow machine it is more, and so is everything else.
#pragma once

#include <cstdint>

#include "trace/label.h"
#include "trace/trace.h"

namespace stepscope {

class RecordingCost {
 public:
  // Nothing is taken off traces of other tools: what these cost is not known.
  explicit RecordingCost(const Trace& trace) : is_ours_(trace.format() == kRecordingFormat) {}

  int64_t of(SliceKind kind) const {
    if (!is_ours_) return 0;
    switch (kind) {
      case SliceKind::kPython:
        return 70;
      case SliceKind::kOperator:
        return 500;
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
