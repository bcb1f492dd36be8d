// What a thread that stands in a futex waits for, in the program's own words: the GIL, a lock, the
// end of another thread; and which locks a frame is within `with` of. The word that a thread waits
// for is known by its address, and a lock that has it is found among what the frame works with: no
// guess. From 3.11 on; of older ones only the GIL is known.
//
//   if (is_gil(objects, futex)) ...
//   if (auto lock = find_awaited_lock(objects, stack.frames[0], futex)) lock->name …
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collect/sample/remote_objects.h"
#include "collect/sample/stack_reader.h"

namespace stepscope::sample {

struct AwaitedLock {
  uint64_t address = 0;
  std::string type;    // "_thread.lock", "_thread.RLock", "_multiprocessing.SemLock"
  std::string name;    // as the frame has it: "self._lock"; empty where that is not known
  uint64_t owner = 0;  // the pthread that holds it; 0: an RLock alone knows
};

bool is_gil(const RemoteObjects& objects, uint64_t futex);

// `frame` is the thread's innermost one.
std::optional<AwaitedLock> find_awaited_lock(RemoteObjects& objects, const StackFrame& frame,
                                             uint64_t futex);

// The locks (addresses) that the frame has taken by `with` and not yet given back.
std::vector<uint64_t> find_entered_locks(RemoteObjects& objects, const StackFrame& frame);

// The pthread of the threading.Thread that is `self` in the frame; 0 where there is none.
uint64_t find_thread_of_self(RemoteObjects& objects, const StackFrame& frame);

}  // namespace stepscope::sample
