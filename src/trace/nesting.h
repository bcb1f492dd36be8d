// Nesting: walks slices of one track in order and says, when each one closes, who held it and how
// much of its time was its own. It keeps only the open slices, so that it also serves files that
// are read block by block (SliceStream).
//
//   Nesting nesting;
//   for (each row of the track, in order)
//     nesting.open(row, label, start_ns, dur_ns, [&](const Nesting::Slice& closed) { … });
//   nesting.close_all(on_close);
//
// Slow equivalent: for every slice, look through all earlier ones for the innermost that holds it.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/ids.h"

namespace stepscope {

class Nesting {
 public:
  struct Slice {
    SliceId row;
    LabelId label;
    int64_t start_ns;
    int64_t end_ns;
    int64_t children_ns;  // durations of the direct children
    uint32_t child_count;

    int64_t dur_ns() const { return end_ns - start_ns; }
    int64_t self_ns() const { return dur_ns() - children_ns; }
  };

  // Closes what ended before, then opens the slice. on_close(const Slice&) is called innermost
  // first; while it runs, stack() still ends with the slice that closes.
  template <typename OnClose>
  void open(SliceId row, LabelId label, int64_t start_ns, int64_t dur_ns, OnClose&& on_close) {
    const int64_t end_ns = start_ns + dur_ns;
    while (!stack_.empty() && !holds(stack_.back().end_ns, start_ns, end_ns)) close(on_close);
    if (!stack_.empty()) {
      stack_.back().children_ns += dur_ns;
      ++stack_.back().child_count;
    }
    stack_.push_back({row, label, start_ns, end_ns, 0, 0});
  }

  template <typename OnClose>
  void close_all(OnClose&& on_close) {
    while (!stack_.empty()) close(on_close);
  }

  const std::vector<Slice>& stack() const { return stack_; }

  // The rule of nesting, the same everywhere: a slice is in an earlier one when it starts before
  // that one's end and does not end after it.
  static bool holds(int64_t outer_end_ns, int64_t start_ns, int64_t end_ns) {
    return start_ns < outer_end_ns && end_ns <= outer_end_ns;
  }

 private:
  template <typename OnClose>
  void close(OnClose& on_close) {
    on_close(stack_.back());
    stack_.pop_back();
  }

  std::vector<Slice> stack_;
};

}  // namespace stepscope
