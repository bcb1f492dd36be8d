// MemoryObserver: every allocation and release that PyTorch's allocators tell of, with what they
// have handed out by then. They tell it to one object, found through a slot of the thread, which
// autograd hands on to its own threads: the slot that torch.profiler uses with profile_memory.
//
//   if (!MemoryObserver::is_free()) ...    // torch.profiler has the slot
//   MemoryObserver::start(true);           // on this thread
//   MemoryObserver::stop();                // on the same thread
#pragma once

namespace stepscope::torch {

class MemoryObserver {
 public:
  MemoryObserver() = delete;

  // Whether nobody has the slot of this thread.
  static bool is_free();
  // With `writes_each`, each allocation is recorded; else only write_counters() does.
  static void start(bool writes_each);
  static void stop();
  static void write_counters();
};

}  // namespace stepscope::torch
