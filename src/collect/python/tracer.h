// The tracer of Python calls: begin and end of every Python function on every thread, and of C
// functions where asked for, as records of the one recorder.
//
//   Status status = start_tracer({.c_calls = false});     // a recording runs already
//   ...
//   stop_tracer();
//
// How it hears of calls depends on the interpreter, and on what is asked for:
//
//   3.11              a frame evaluation function (PEP 523): frame_hook.cc
//   3.11, C calls     PyEval_SetProfile, three times the cost: profile_hook.cc
//   3.12 and later    sys.monitoring: monitoring_hook.cc
//
// All of these run with the GIL held, and only in the interpreter that started the tracer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "collect/code_filter.h"
#include "collect/python/code_mark.h"

struct _object;

namespace stepscope {

struct TracerOptions {
  bool c_calls = false;
  // Begin with the program's first frame (its module, or runpy's), not here. For start-up code.
  bool from_main = false;
  int64_t min_duration_ns = 0;  // shorter calls are left out, and counted
  CodePatterns code;
  std::string threads;     // a glob for the names of threads; empty: all
  std::string own_folder;  // code below it is the profiler's own
  // Nothing but the calls of marked code, and of those only what the marks say. Those that are open
  // when it starts are not seen. C calls are not.
  bool marks_only = false;
};

// With the GIL. Fails where another tool has the hook that it needs.
Status start_tracer(const TracerOptions& options);
// With the GIL. Says what went wrong meanwhile: another tool took the hook away.
Status stop_tracer();
bool is_tracing();
// With the GIL: the names of other profilers that were seen since the tracer was started.
const std::vector<std::string>& other_profilers();

// With the GIL. The calls of a code object are recorded with that mark from now on, also where the
// filter leaves the function out, by this tracer and all later ones.
Status mark_code(_object* code, CodeMark mark);

// Before anything else records on this thread.
void write_open_calls();
// In a forked child, with the GIL: what is on its stack is open there too.
void continue_tracer_in_child();

}  // namespace stepscope
