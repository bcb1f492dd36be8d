// Reads an argument of a call from its frame.
#pragma once

#include <Python.h>

#if PY_VERSION_HEX < 0x030C0000
struct _PyInterpreterFrame;
#endif

namespace stepscope {

// New references; null, and no exception, where there is none (any more).
PyObject* find_argument(PyFrameObject* frame, int number);
#if PY_VERSION_HEX < 0x030C0000
// Also of a frame whose first instruction has not run yet.
PyObject* find_argument(const _PyInterpreterFrame* frame, int number);
#endif

}  // namespace stepscope
