// InputWork: how the batches of the steady steps came about. A DataLoader without workers fetches
// them on the training thread, in its __next__; with workers, other processes fetch while the
// training thread computes, and it waits where they are slower than it. Only our own recordings
// show the fetches; in others the name of the iterator tells where they happen.
#pragma once

#include <cstdint>
#include <vector>

#include "advise/code_place.h"
#include "advise/step_work.h"
#include "analyze/intervals.h"
#include "analyze/training_thread.h"
#include "trace/trace.h"

namespace stepscope {

struct InputWork {
  uint64_t batches = 0;    // that the training thread asked for
  int64_t wait_ns = 0;     // in __next__
  uint64_t fetches = 0;    // that were seen, here or in workers
  int64_t fetch_ns = 0;    // items and collate, of all of them
  int64_t collate_ns = 0;  // of these
  bool is_in_process = false;
  bool has_workers = false;
  uint32_t workers = 0;  // processes that were seen to fetch
  LabelId collate{};     // where collate_ns > 0: the function
  bool has_own_collate = false;
  // What the user's own functions did in the fetches, most own time first.
  std::vector<FunctionWork> functions;
  IntervalSet waits;
  std::vector<SliceId> longest_waits;

  int64_t mean_wait_ns() const {
    return batches == 0 ? 0 : wait_ns / static_cast<int64_t>(batches);
  }
  int64_t mean_fetch_ns() const {
    return fetches == 0 ? 0 : fetch_ns / static_cast<int64_t>(fetches);
  }

  // Takes off what recording the training thread's fetches cost.
  void take_off(int64_t recording_ns);

  static InputWork find(const Trace& trace, const TrainingThread& thread, const UserCode& user,
                        const IntervalSet& times);
};

}  // namespace stepscope
