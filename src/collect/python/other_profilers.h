// Other profilers that the program starts while it is recorded: each slows it for the other, and
// the times of both contain it. The trace is to say so.
#pragma once

#include <Python.h>

namespace stepscope {

// All with the GIL. Each profiler is told once in a recording: an instant of the category
// format::kOtherProfilersCategory.

// The tracer starts: what runs already.
void look_for_running_profilers();
// Now and then: whether one is at work in this thread.
void look_for_other_profilers();

// Code that is about to run for the first time may be that of one.
void note_if_profiler(const PyCodeObject* code);

}  // namespace stepscope
