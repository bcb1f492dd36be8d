// What recording itself adds to a program, so that findings speak of the program without it.
//
// Most of it is reading the clock twice, so that it is told in reads of the clock, which each
// recording measures. What was measured in tight loops, where findings of loops need it most, on a
// machine where a read takes 8.5 ns and on one where it takes 11.6 ns: 15 to 20 ns and 33 ns for a
// call, 80 to 180 ns and 180 to 350 ns for an operator. In a cold cache it is more, and so is
// everything else.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include "analyze/calls_of_samples.h"
#include "format/recording_metadata.h"
#include "trace/label.h"
#include "trace/trace.h"

namespace stepscope {

class RecordingCost {
 public:
  // Nothing is taken off traces of other tools: what these cost is not known. Of samples the number
  // of calls is not.
  explicit RecordingCost(const Trace& trace)
      : read_ns_(trace.format() == kRecordingFormat && !is_made_of_samples(trace)
                     ? clock_read_ns(trace)
                     : 0) {}

  int64_t of(SliceKind kind) const {
    switch (kind) {
      case SliceKind::kPython:
        return reads(2.6);
      case SliceKind::kOperator:
        return reads(17);
      case SliceKind::kAnnotation:
        return reads(15);
      default:
        return 0;
    }
  }

 private:
  // As the recording says, within what machines can do.
  static double clock_read_ns(const Trace& trace) {
    double ns = 11.6;
    const std::string_view text = trace.find_metadata(format::kClockReadKey);
    std::from_chars(text.data(), text.data() + text.size(), ns);
    return ns >= 1 && ns <= 1000 ? ns : 11.6;
  }
  int64_t reads(double count) const { return static_cast<int64_t>(count * read_ns_); }

  double read_ns_;
};

}  // namespace stepscope
