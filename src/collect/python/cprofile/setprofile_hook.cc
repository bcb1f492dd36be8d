// The events of Python 3.11: PyEval_SetProfile, of one thread.
#include <Python.h>

#if PY_VERSION_HEX < 0x030C0000

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

#include "collect/python/c_function_name.h"
#include "collect/python/cprofile/profiler_object.h"

namespace stepscope::cprofile {
namespace {

int on_event(PyObject* self, PyFrameObject* frame, int what, PyObject* argument) {
  CallProfiler& profiler = reinterpret_cast<ProfilerObject*>(self)->profiler;
  switch (what) {
    case PyTrace_CALL: {
      // The frame's own field: PyFrame_GetCode takes a reference, which is not needed here.
      PyCodeObject* code = frame->f_frame->f_code;
      enter_call(profiler, code, reinterpret_cast<PyObject*>(code));
      break;
    }
    case PyTrace_RETURN:
      leave_call(profiler, frame->f_frame->f_code);
      break;
    case PyTrace_C_CALL:
      if (profiler.keeps_builtins && is_c_function(argument)) {
        enter_call(profiler, reinterpret_cast<PyCFunctionObject*>(argument)->m_ml, argument);
      }
      break;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
      if (profiler.keeps_builtins && is_c_function(argument)) {
        leave_call(profiler, reinterpret_cast<PyCFunctionObject*>(argument)->m_ml);
      }
      break;
    default:
      break;
  }
  return 0;
}

}  // namespace

bool prepare_profile_hook() { return true; }

bool install_profile_hook(ProfilerObject* self) {
  return _PyEval_SetProfile(PyThreadState_Get(), on_event, &self->ob_base) == 0;
}

// As cProfile's: of whichever profiler the thread has.
bool remove_profile_hook(ProfilerObject*) {
  return _PyEval_SetProfile(PyThreadState_Get(), nullptr, nullptr) == 0;
}

}  // namespace stepscope::cprofile

#endif
