// Python 3.11 with C calls: PyEval_SetProfile on every thread. Only this tells of C functions
// there.
//
// It is set per thread: on those that run, at the start; on those of the module threading, as they
// begin. A thread that the program starts with the module _thread later on is not seen.
#include <Python.h>

#if PY_VERSION_HEX < 0x030C0000

#include <vector>

#include "collect/python/c_function_labels.h"
#include "collect/python/call_writer.h"
#include "collect/python/code_labels.h"
#include "collect/python/frame_argument.h"
#include "collect/python/hooks.h"
#include "collect/python/open_marks.h"
#include "collect/python/traced_thread.h"

namespace stepscope {
namespace {

using Mark = CodeLabels::Mark;

Py_tracefunc g_callback = nullptr;
PyObject* g_starter = nullptr;  // what threading.setprofile() was given
bool g_waits_for_main = false;

CodeLabels::Entry entry_of(PyFrameObject* frame) {
  PyCodeObject* code = PyFrame_GetCode(frame);
  const CodeLabels::Entry entry = CodeLabels::find(code);
  Py_DECREF(code);  // the frame holds it
  return entry;
}

template <typename Calls>
void begin_call(PyFrameObject* frame) {
  const CodeLabels::Entry entry = entry_of(frame);
  if (entry.label != 0) return Calls::begin(entry.label);
  if (entry.mark != Mark::kMarked) return;
  OpenMarks::begin<Calls>(entry.code, [frame](int number) { return find_argument(frame, number); });
}

template <typename Calls>
void end_call(PyFrameObject* frame) {
  const CodeLabels::Entry entry = entry_of(frame);
  if (entry.label != 0) return Calls::end(entry.label);
  if (entry.mark == Mark::kMarked) OpenMarks::end_live<Calls>(entry.code);
}

// The frames of this thread whose begin was told. A generator that delegates (yield from) and has
// an exception thrown into it goes on without a call event; its return event comes all the same.
thread_local std::vector<const PyFrameObject*> t_frames;

template <typename Calls>
void open_stack(PyFrameObject* innermost) {
  t_frames.clear();
  for (PyFrameObject* frame : find_frames(innermost)) {
    t_frames.push_back(frame);
    begin_call<Calls>(frame);
  }
}

bool is_first_of_program(PyFrameObject* frame) {
  PyFrameObject* back = PyFrame_GetBack(frame);
  Py_XDECREF(back);
  PyCodeObject* code = PyFrame_GetCode(frame);
  const bool is_first = back == nullptr && begins_program(code);
  Py_DECREF(code);
  return is_first;
}

template <typename Calls>
int on_event(PyObject*, PyFrameObject* frame, int what, PyObject* argument) {
  if (g_waits_for_main) [[unlikely]] {
    if (what != PyTrace_CALL || !is_first_of_program(frame)) return 0;
    g_waits_for_main = false;
    meet_main_thread();
  }
  const bool takes_thread = TracedThread::takes([&] {
    PyFrameObject* back = what == PyTrace_CALL ? PyFrame_GetBack(frame) : nullptr;
    open_stack<Calls>(what == PyTrace_CALL ? back : frame);
    Py_XDECREF(back);
  });
  if (!takes_thread) return 0;
  switch (what) {
    case PyTrace_CALL:
      t_frames.push_back(frame);
      begin_call<Calls>(frame);
      return 0;
    case PyTrace_RETURN: {
      const bool has_begun = !t_frames.empty() && t_frames.back() == frame;
      has_begun ? t_frames.pop_back() : begin_call<Calls>(frame);
      end_call<Calls>(frame);
      return 0;
    }
    case PyTrace_C_CALL:
      if (const uint32_t label = find_c_function_label(argument); label != 0) Calls::begin(label);
      return 0;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
      if (const uint32_t label = find_c_function_label(argument); label != 0) Calls::end(label);
      return 0;
    default:
      return 0;
  }
}

// threading.setprofile() has each new thread call sys.setprofile() with this; its first event
// brings us here, and from then on the thread calls on_event() directly.
PyObject* start_thread(PyObject*, PyObject*) {
  if (g_callback != nullptr) PyEval_SetProfile(g_callback, nullptr);
  Py_RETURN_NONE;
}

PyMethodDef g_start_thread = {"stepscope", start_thread, METH_VARARGS, nullptr};

void set_on_all_threads(Py_tracefunc callback) {
  PyThreadState* own = PyThreadState_Get();
  for (PyThreadState* thread = PyInterpreterState_ThreadHead(own->interp); thread != nullptr;
       thread = PyThreadState_Next(thread)) {
    if (callback == nullptr ? thread->c_profilefunc == g_callback
                            : thread->c_profilefunc == nullptr) {
      _PyEval_SetProfile(thread, callback, nullptr);
    }
  }
}

// threading.setprofile(function), if the module is loaded. The program may load it later.
Status set_on_new_threads(PyObject* function) {
  PyObject* threading = PyImport_ImportModule("threading");
  PyObject* result =
      threading == nullptr ? nullptr : PyObject_CallMethod(threading, "setprofile", "O", function);
  Py_XDECREF(threading);
  if (result == nullptr) {
    PyErr_Clear();
    return Status::error("threading.setprofile() failed");
  }
  Py_DECREF(result);
  return {};
}

Status install(const HookOptions& options) {
  if (PyThreadState_Get()->c_profilefunc != nullptr) {
    return Status::error(
        "another profiler has this thread's sys.setprofile(), which C calls are recorded with on "
        "Python 3.11; stop it, or record without C calls");
  }
  if (g_starter == nullptr) g_starter = PyCFunction_New(&g_start_thread, nullptr);
  g_callback = options.long_calls_only ? on_event<LongCalls> : on_event<EveryCall>;
  g_waits_for_main = options.from_main;
  if (Status status = set_on_new_threads(g_starter); !status) return status;
  set_on_all_threads(g_callback);
  if (options.from_main) return {};
  (void)TracedThread::takes([&] {
    PyFrameObject* frame = PyEval_GetFrame();
    options.long_calls_only ? open_stack<LongCalls>(frame) : open_stack<EveryCall>(frame);
  });
  return {};
}

Status remove() {
  const bool is_ours = PyThreadState_Get()->c_profilefunc == g_callback;
  set_on_all_threads(nullptr);
  (void)set_on_new_threads(Py_None);
  g_callback = nullptr;
  return is_ours ? Status()
                 : Status::error(
                       "another profiler took sys.setprofile(): calls after that are "
                       "missing");
}

}  // namespace

const CallHook kProfileHook = {install, remove};

}  // namespace stepscope

#endif  // before 3.12
