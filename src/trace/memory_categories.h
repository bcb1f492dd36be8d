// What each piece of memory was held for, from the phases of training (training_phases.h) in which
// it was taken and given back. No tensor is known, so this is a judgement; docs/views.md says how
// well it agrees with torch's own, which follows every tensor.
//
//   taken in              given back                              is
//   the optimizer's step  after it                                optimizer state
//   input                 after it                                input
//   a backward pass       after it                                gradient
//   a backward pass       in it, after the node that took it      autograd detail
//   the forward pass      in or after the next backward pass      activation, where its operator
//                                                                 added to autograd's graph
//   elsewhere             in or after the next backward pass      parameter or input (below)
//   anywhere              before that                             temporary
//   before the recording  after an optimizer's step, or never     parameter
//   before the recording  in zero_grad, backward, input           gradient, activation, input
//
// What is made without autograd and outlives a backward pass is a parameter or an input. It is a
// parameter where it was made before training began, by an operator that only makes room, or is as
// large as a gradient; made later, both must hold. The rest, and all of a process without any
// phase, is unknown.
#pragma once

#include <vector>

#include "trace/allocation_lifetimes.h"
#include "trace/memory_category.h"
#include "trace/trace.h"

namespace stepscope {

// One per lifetime. O((slices + lifetimes) log).
std::vector<MemoryCategory> find_memory_categories(const Trace& trace,
                                                   const AllocationLifetimes& all);

}  // namespace stepscope
