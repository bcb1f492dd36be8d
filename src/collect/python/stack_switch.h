// Runs a frame on a stack of its own where the thread's is nearly used up.
//
// A frame hook turns each Python call into a C call, so that a Python program that recurses 50,000
// deep, which is fine without us, would overflow a stack of 8 MB. So the hook looks how much is
// left, a subtraction and a comparison, and goes on in another stretch of memory when it is little.
//
//   if (t_stack.is_short()) [[unlikely]] return call_with_stack(eval, thread, frame, throws);
//
// Unwinders (of exceptions, of pthread_exit, of debuggers) walk through the switch as through any
// other call.
#pragma once

#include <cstddef>
#include <cstdint>

#include <Python.h>

struct _PyInterpreterFrame;

namespace stepscope {

using EvalFunction = PyObject* (*)(PyThreadState*, _PyInterpreterFrame*, int);

// Where the stack pointer may be. All zeros: not known yet, and thus short.
struct StackRange {
  uintptr_t low = 0;
  size_t bytes = 0;

  bool is_short() const {
    return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) - low >= bytes;
  }
};

extern thread_local StackRange t_stack __attribute__((tls_model("initial-exec")));

// Learns the thread's stack if it is not known; else calls `eval` on further memory. Where there is
// none it calls it here.
PyObject* call_with_stack(EvalFunction eval, PyThreadState* thread, _PyInterpreterFrame* frame,
                          int throws);

}  // namespace stepscope
