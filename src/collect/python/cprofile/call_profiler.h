// stepscope._core.CallProfiler: the deterministic profiler behind stepscope.cprofile, with the
// methods, events and figures of the standard library's _lsprof.Profiler.
#pragma once

struct _object;

namespace stepscope::cprofile {

// Adds CallProfiler, profiler_entry and profiler_subentry. False with a Python exception set.
bool add_call_profiler(_object* module);

}  // namespace stepscope::cprofile
