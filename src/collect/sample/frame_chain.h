// The frames of one thread from a ThreadCopy, and whether they can have been its stack.
//
// A frame that has called a Python function keeps where its stack ends (`stack_top` >= 0), and the
// function that it called is still above that end; a frame that runs, or is in C, has -1 there. So
// a copy tells by itself which frame was the innermost one while it was made, and which function
// each frame had called. Only where C lies between two frames must both copies agree.
#pragma once

#include <cstdint>
#include <vector>

#include "collect/sample/code_table.h"
#include "collect/sample/stack_reader.h"
#include "collect/sample/thread_copy.h"

namespace stepscope::sample {

enum class ChainResult : uint8_t {
  kGood,
  kTorn,     // the thread went on while it was copied
  kMissing,  // a frame was not in the copy: it is in the next one
};

// `is_paused`: the thread stands still, and what is there is true.
ChainResult read_frames(const ProcessMemory& memory, const PythonLayout& layout,
                        const CodeTable& codes, bool is_paused, ThreadCopy& copy,
                        std::vector<StackFrame>& frames);

}  // namespace stepscope::sample
