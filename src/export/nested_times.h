// NestedTimes: begins and ends for the slices of a track such that no two of them overlap in part.
// Perfetto drops a slice that does, and counts an error; the TensorBoard plugin drops it as well.
//
//   NestedTimes times(trace);
//   times.load(track);
//   write(times.start_ns(row), times.dur_ns(row));
//
// Where a user's scope (torch_scopes.h) and a call overlap, the call is cut: that is
// record_function's __enter__, in which the scope begins, or its __exit__, in which it ends. What
// the call did inside of the scope stays, in the scope. Of two others the later one is cut. What
// nests is untouched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

class NestedTimes {
 public:
  explicit NestedTimes(const Trace& trace) : trace_(trace) {}

  void load(const Track& track);
  // Of rows of the track that was loaded last.
  int64_t start_ns(uint32_t row) const { return times_[row - first_row_].start_ns; }
  int64_t dur_ns(uint32_t row) const {
    const Times& times = times_[row - first_row_];
    return times.end_ns - times.start_ns;
  }

 private:
  struct Times {
    int64_t start_ns;
    int64_t end_ns;
    bool is_scope;
  };

  void open(uint32_t at);
  void open_later(uint32_t at);

  const Trace& trace_;
  uint32_t first_row_ = 0;
  std::vector<Times> times_;
  std::vector<uint32_t> open_;  // in times_; each holds those after it, or begins when they end
};

}  // namespace stepscope
