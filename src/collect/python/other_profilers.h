// Other profilers that the program starts while it is recorded: each slows it for the other, and
// the times of both contain it. The trace is to say so.
#pragma once

#include <string_view>

#include <Python.h>

namespace stepscope {

// A label of this category says that a profiler of its name was at work.
inline constexpr std::string_view kOtherProfilersCategory = "concurrent_profilers";

// Now and then, with the GIL: whether one is at work in this thread. Each is told once.
void look_for_other_profilers();

// Code that is about to run for the first time may be that of one.
void note_if_profiler(const PyCodeObject* code);

// Another recording: what was told is told again.
void forget_other_profilers();

}  // namespace stepscope
