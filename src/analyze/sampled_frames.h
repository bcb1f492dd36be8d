// What functions on sampled stacks say of training: by the files and names of PyTorch's own. A
// stack is known by its node; each node is one function on it.
//
//   const std::vector<FrameMeaning> meanings = find_frame_meanings(trace);
//   if (meanings[index(node)].mark == FrameMark::kFetch) …
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/training_thread.h"
#include "trace/trace.h"

namespace stepscope {

// What begins with a function; of several that lie in each other the outermost has it.
enum class FrameMark : uint8_t {
  kNone = 0,
  kForward,        // a module's call
  kFetch,          // a DataLoader makes a batch
  kCollate,        // … of items that it has
  kCheckpoint,     // torch.save
  kCommunication,  // torch.distributed.all_reduce
};

struct FrameMeaning {
  FrameMark mark = FrameMark::kNone;
  // The scope of that role which PyTorch opens in this function, and in which the functions that it
  // calls lie; or which was opened around this function.
  TrainingRole opens = TrainingRole::kNone;
  TrainingRole is_in = TrainingRole::kNone;
  bool is_torch = false;
};

// By stack node.
std::vector<FrameMeaning> find_frame_meanings(const Trace& trace);

}  // namespace stepscope
