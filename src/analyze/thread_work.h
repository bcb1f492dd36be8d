// ThreadWork: what the training thread did when, sorted by its role for phases; and what other
// threads of its process did meanwhile. One walk over the slices of the process.
#pragma once

#include <vector>

#include "analyze/intervals.h"
#include "analyze/training_thread.h"
#include "trace/trace.h"

namespace stepscope {

struct ThreadWork {
  // Of the training thread. All normalized.
  IntervalSet input;
  IntervalSet communication;
  IntervalSet async_communication;  // while it went on with other things (async_scopes.h)
  IntervalSet forward;              // module calls
  IntervalSet backward_calls;
  IntervalSet zero_grad;
  IntervalSet optimizer;
  IntervalSet optimizer_backward;  // called from within the backward pass
  IntervalSet copies;              // in no other operator
  IntervalSet operators;           // of all roles
  IntervalSet waits;               // for the device
  IntervalSet waiting;             // for whatever it was: a sampled thread that used no CPU
  IntervalSet any;                 // everything that was recorded
  // In order of their begin.
  std::vector<Interval> loose_operators;  // in none of the above, or in a closure of an optimizer
  std::vector<Interval> backward_nodes;   // outermost, in no backward call; of all threads
  // Of other threads of the process.
  IntervalSet other_communication;
  IntervalSet other_operators;

  static ThreadWork find(const Trace& trace, const TrainingThread& thread, TrackId track);
};

}  // namespace stepscope
