// The frames of a coroutine that is suspended, and of what it awaits, down to the future at the
// end: through coroutines, generators and asynchronous generators.
//
//   AwaitChain chain = read_await_chain(objects, coroutine);
#pragma once

#include <cstdint>
#include <vector>

#include "collect/sample/remote_objects.h"
#include "collect/sample/stack_reader.h"

namespace stepscope::sample {

struct AwaitChain {
  std::vector<StackFrame> frames;  // the innermost first
  uint64_t awaits = 0;             // what the innermost awaits, where that has no frame: a future
  bool is_running = false;         // a part of it runs now: its frames are on a thread's stack
};

AwaitChain read_await_chain(RemoteObjects& objects, uint64_t coroutine);

}  // namespace stepscope::sample
