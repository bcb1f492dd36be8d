// Python and native frames of one thread, brought together in the order in which they called each
// other.
//
// A run of the interpreter's loop (a native frame of role kEval) stands for the Python frames that
// it runs: from the innermost of them to the one that C called (StackFrame::is_entry). What lies
// between two such runs is native code that a Python function called and that called Python in
// turn. The interpreter's own machinery is left out.
//
// Where the two do not agree (no name for the loop, a thread that went on), nothing is guessed: all
// Python frames are given, and on top of them the native ones that lie above the innermost run.
//
//   merge_stacks(python.frames, native, merged);
//   for (const MergedFrame& frame : merged)
//     frame.is_native ? native.frames[frame.index] : python.frames[frame.index];
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collect/sample/native_unwinder.h"
#include "collect/sample/stack_reader.h"

namespace stepscope::sample {

struct MergedFrame {
  bool is_native = false;
  uint32_t index = 0;  // in the frames that it is from
  bool operator==(const MergedFrame&) const = default;
};

// The innermost first, as both stacks are. `merged` is used again, with its memory.
void merge_stacks(std::span<const StackFrame> python, const NativeStack& native,
                  std::vector<MergedFrame>& merged);

}  // namespace stepscope::sample
