// The times of a call profile: ticks of the machine (base/tick_clock.h), or what a user's timer
// says.
#pragma once

#include <Python.h>

#include <cstdint>

namespace stepscope::cprofile {

// Calls `timer` and reads its result: as an integer of the user's own unit where `in_units`, else
// as seconds, which become ns. What goes wrong is reported as unraisable, and 0 is returned.
uint64_t read_user_timer(PyObject* timer, bool in_units);

// Measured over the time since the first call of it, until that is a second: the first call, which
// takes a moment, belongs to where the program starts.
double measure_seconds_per_tick();

}  // namespace stepscope::cprofile
