// ProfilerObject: the instance of stepscope._core.CallProfiler, which does what _lsprof.Profiler
// does, and the two functions that the interpreter's events end in: enter_call and leave_call.
//
// Events come with the GIL held and no exception set: the interpreter puts one that is in flight
// aside. Whatever runs Python code (a user's timer, the repr of a method)
// may let other threads in, which may clear the profiler or open calls: so nothing is held across
// it but indices, and `generation` tells whether they still mean the same.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "base/tick_clock.h"
#include "collect/python/cprofile/call_tally.h"

namespace stepscope::cprofile {

struct CallProfiler {
  CallTally tally;
  PyObject* timer = nullptr;  // owned; null: ticks of the machine
  double timer_unit = 0;      // seconds; 0: the timer returns seconds
  double seconds_per_tick = 0;
  uint64_t generation = 0;  // counts clear()
  bool is_enabled = false;
  bool keeps_edges = true;
  bool keeps_builtins = true;
  bool lost_memory = false;
  std::vector<unsigned long> threads_in_timer;
};

struct ProfilerObject {
  PyObject ob_base;
  CallProfiler profiler;
};

// The rare ways of the functions below.
CallEntry* add_entry(CallProfiler& profiler, const void* key, PyObject* function);
void start_by_timer(CallProfiler& profiler);
void leave_by_timer(CallProfiler& profiler, CallEntry& entry);

// `key` is a code object, or the PyMethodDef of a C function; `function` names it at first sight: a
// code object or a C function.
inline void enter_call(CallProfiler& profiler, const void* key, PyObject* function) {
  CallEntry* entry = profiler.tally.find(key);
  if (entry == nullptr) [[unlikely]] {
    entry = add_entry(profiler, key, function);
    if (entry == nullptr) return;
  }
  try {
    profiler.tally.open(*entry, profiler.keeps_edges);
  } catch (const std::bad_alloc&) {
    profiler.lost_memory = true;
    return;
  }
  if (profiler.timer != nullptr) [[unlikely]] {
    start_by_timer(profiler);
    return;
  }
  profiler.tally.top().start_ticks = read_ticks();
}

inline void leave_call(CallProfiler& profiler, const void* key) {
  CallTally& tally = profiler.tally;
  if (tally.depth() == 0) return;
  CallEntry* entry = tally.top().entry;
  if (entry->key != key) [[unlikely]] {
    entry = tally.find(key);
    if (entry == nullptr) {
      tally.drop_top();
      return;
    }
  }
  if (profiler.timer != nullptr) [[unlikely]] {
    leave_by_timer(profiler, *entry);
    return;
  }
  tally.close(*entry, read_ticks(), profiler.keeps_edges);
}

// Connects the events of the interpreter with `self`: of this thread alone on Python 3.11, of all
// threads on later ones. False with an exception set. Once before them: prepare_profile_hook.
bool prepare_profile_hook();
bool install_profile_hook(ProfilerObject* self);
bool remove_profile_hook(ProfilerObject* self);

// What getstats() returns: a list of profiler_entry. Null with an exception set.
PyObject* build_stats_list(const CallTally& tally, double seconds_per_tick);
// Makes the types of the list's items and adds them to the module.
bool add_stats_types(PyObject* module);

}  // namespace stepscope::cprofile
