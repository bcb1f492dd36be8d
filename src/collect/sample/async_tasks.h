// The asyncio tasks of a process: what each is called, where its coroutine stands, and which task
// or future it waits for. Tasks that are done are left out.
//
//   for (const AsyncTask& task : read_async_tasks(objects)) {
//     task.name, task.frames (innermost first), task.waits_for (addresses of other tasks)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/sample/remote_objects.h"
#include "collect/sample/stack_reader.h"

namespace stepscope::sample {

struct AsyncTask {
  enum class State : uint8_t {
    kRunning,  // its frames are on the stack of the thread of its loop
    kReady,    // it will run when its loop comes to it
    kWaiting,
  };

  uint64_t address = 0;
  std::string name;
  State state = State::kReady;
  uint64_t loop = 0;     // the address of its event loop
  uint64_t pthread = 0;  // of the thread that runs the loop; 0 where that is not known
  // Of its coroutine and what that awaits, the innermost first; of a running one, those that are
  // suspended: mostly none.
  std::vector<StackFrame> frames;
  // Tasks of this list that it waits for, also by gather(), wait(), wait_for(), shield() and
  // TaskGroup.
  std::vector<uint64_t> waits_for;
  std::string awaits;  // the type of the future that it waits for: "_asyncio.Future"; or empty
};

const char* to_text(AsyncTask::State state);  // "running"

// In the order of their names, Task-2 before Task-10. At most 10,000.
std::vector<AsyncTask> read_async_tasks(RemoteObjects& objects);

}  // namespace stepscope::sample
