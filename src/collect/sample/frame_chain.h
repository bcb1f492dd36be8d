// The frames of one thread from a ThreadCopy, and whether they can have been its stack.
//
// A frame that has called a Python function keeps where its stack ends (`stack_top` >= 0), and the
// function that it called is still above that end; a frame that runs, or is in C, has -1 there. So
// a copy tells by itself which frame was the innermost one while it was made, and which function
// each frame had called. But a frame may change while it is copied itself. So a call is believed
// where its caller is the same in both copies; of a thread that is too quick for that, where that
// instruction has often been seen to call that function (CallLinks).
//
// Where C lies between two frames, or where a call left nothing on its caller's stack
// (`__getitem__` by subscript, a property), both copies must agree; and as a program in a tight
// loop may be at the same place again by then, so must the next copies, until the call is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/flat_map.h"
#include "collect/sample/code_table.h"
#include "collect/sample/stack_reader.h"
#include "collect/sample/thread_copy.h"

namespace stepscope::sample {

// Which instruction was seen to call which function, and how often. A copy of two moments shows
// calls too that never were, but seldom, beside those that are.
class CallLinks {
 public:
  // One more time. True where it is one of the calls that the instruction makes.
  bool see(uint64_t caller_code, uint64_t instruction, uint64_t callee_code) {
    if (times_.size() >= kMost) times_ = {};
    const uint64_t place = mix(caller_code * 0x9E3779B97F4A7C15u ^ instruction);
    const uint32_t all = ++times_.try_emplace(place, 0).value;
    const uint32_t of_it = ++times_.try_emplace(mix(place ^ callee_code), 0).value;
    return of_it >= kLeast && of_it >= all / kLeastShare;
  }

 private:
  static constexpr uint32_t kLeast = 3;
  static constexpr uint32_t kLeastShare = 8;
  static constexpr size_t kMost = 1 << 20;

  static uint64_t mix(uint64_t key) {
    key = (key ^ key >> 29) * 0xBF58476D1CE4E5B9u;
    return (key ^ key >> 32) * 0x94D049BB133111EBu;
  }

  FlatMap times_;
};

enum class ChainResult : uint8_t {
  kGood,
  kProbable,  // good if the next copies show the same calls where nothing proves them
  kTorn,      // the thread went on while it was copied
  kMissing,   // a frame was not in the copy: it is in the next one
};

// `is_paused`: the thread stands still, and what is there is true. `unproven` is how many frames,
// from the innermost that nothing proves outwards, the next copies must show again.
ChainResult read_frames(const ProcessMemory& memory, const PythonLayout& layout,
                        const CodeTable& codes, CallLinks& links, bool is_paused, ThreadCopy& copy,
                        std::vector<StackFrame>& frames, size_t& unproven);

}  // namespace stepscope::sample
