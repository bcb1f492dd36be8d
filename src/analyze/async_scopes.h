// A collective's scope begins where it is called, and ends where its work is done. Of most backends
// the call waits, or only launches kernels; of others the thread goes on meanwhile, and the scope
// reaches over a forward pass. That time is not spent on communication.
#pragma once

#include <cstdint>

#include "trace/trace.h"

namespace stepscope {

// Whether the slice holds scopes of the program, Python or backward nodes: no collective calls such
// by itself. Operators it may: they copy what it sends. O(slices in it), less where it does.
bool goes_on_in_background(const Trace& trace, uint32_t row);

}  // namespace stepscope
