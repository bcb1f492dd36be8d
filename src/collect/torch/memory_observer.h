// MemoryObserver: every allocation and release that PyTorch's allocators tell of, with what they
// have handed out by then. They tell it to one object, found through a slot of the thread, which
// autograd hands on to its own threads: the slot that torch.profiler uses with profile_memory.
//
//   if (!MemoryObserver::is_free()) ...               // torch.profiler has the slot
//   MemoryObserver::start(MemoryDetail::kEach);       // on this thread
//   MemoryObserver::stop();                           // on the same thread
#pragma once

namespace stepscope::torch {

enum class MemoryDetail {
  kNone,      // the slot is taken all the same: some of PyTorch's scopes show only where it is
  kCounters,  // what is handed out, where write_counters() is called
  kEach,      // each allocation
};

class MemoryObserver {
 public:
  MemoryObserver() = delete;

  // Whether nobody has the slot of this thread.
  static bool is_free();
  static void start(MemoryDetail detail);
  static void stop();
  static void write_counters();
};

}  // namespace stepscope::torch
