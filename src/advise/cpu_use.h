// CpuUse: how busy the program and its machine were, from the counters that are sampled from /proc
// during every run. Means over `times`; less than 0 where a trace does not say.
#pragma once

#include <cstdint>

#include "analyze/intervals.h"
#include "trace/trace.h"

namespace stepscope {

struct CpuUse {
  uint32_t cores = 0;         // that the program may use; 0: unknown
  double used_cores = -1;     // by the program and its children
  double system_cores = -1;   // of these, in the kernel
  double other_cores = -1;    // of the program's cores, by other programs
  double machine_cores = -1;  // by everything on the machine
  double iowait_cores = -1;   // of the machine
  double stolen_cores = -1;   // by the hypervisor's other guests
  // How much of its time the training thread neither ran nor wanted a core: known where it is the
  // process's first. Else what the program left of one core, if others left one free.
  double waiting = -1;
  // How much of the time some thread held Python's global lock, and how much more it may have been
  // by the chance of few looks.
  double lock_held = -1;
  double lock_margin = 0;
  double torch_threads = -1;     // that PyTorch's operators may use
  double disk_bytes_per_s = -1;  // read and written by the program, not what the page cache served
  double run_queue = -1;         // tasks that run or want to, of the whole machine

  static CpuUse find(const Trace& trace, const Track& training_thread, const IntervalSet& times);
};

}  // namespace stepscope
