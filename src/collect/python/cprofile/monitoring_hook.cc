// The events of Python 3.12 and later: sys.monitoring, of all threads, under cProfile's own id and
// name, so that the two exclude each other.
//
// The callbacks are objects with a vectorcall of their own, which costs less than a method.
#include <Python.h>

#if PY_VERSION_HEX >= 0x030C0000

#include <structmember.h>

#include <array>

#include "collect/python/c_function_name.h"
#include "collect/python/cprofile/profiler_object.h"

namespace stepscope::cprofile {
namespace {

struct EventObject {
  PyObject ob_base;
  vectorcallfunc vectorcall;
  ProfilerObject* profiler;
  PyObject* missing;  // what stands for no argument
};

PyObject* raise_wrong_call() {
  PyErr_SetString(PyExc_TypeError, "only sys.monitoring calls this");
  return nullptr;
}

CallProfiler& profiler_of(PyObject* event) {
  return reinterpret_cast<EventObject*>(event)->profiler->profiler;
}

// PY_START, PY_RESUME, PY_THROW, PY_RETURN, PY_YIELD, PY_UNWIND: (code, offset, ...).
template <bool kIsBegin>
PyObject* on_function(PyObject* event, PyObject* const* args, size_t nargsf, PyObject*) {
  if (PyVectorcall_NARGS(nargsf) < 1 || !PyCode_Check(args[0])) [[unlikely]] {
    return raise_wrong_call();
  }
  if constexpr (kIsBegin) {
    enter_call(profiler_of(event), args[0], args[0]);
  } else {
    leave_call(profiler_of(event), args[0]);
  }
  Py_RETURN_NONE;
}

// CALL, C_RETURN, C_RAISE: (code, offset, callable, first argument or MISSING).
template <bool kIsBegin>
PyObject* on_call(PyObject* event, PyObject* const* args, size_t nargsf, PyObject*) {
  if (PyVectorcall_NARGS(nargsf) < 4) [[unlikely]] {
    return raise_wrong_call();
  }
  CallProfiler& profiler = profiler_of(event);
  PyObject* callable = args[2];
  PyObject* first = args[3];
  if (!profiler.keeps_builtins) Py_RETURN_NONE;
  if (is_c_function(callable)) {
    const PyMethodDef* key = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml;
    if constexpr (kIsBegin) {
      enter_call(profiler, key, callable);
    } else {
      leave_call(profiler, key);
    }
  } else if (Py_IS_TYPE(callable, &PyMethodDescr_Type)) {
    // Counts as the method bound to its argument, where it can be bound to it.
    auto* descriptor = reinterpret_cast<PyMethodDescrObject*>(callable);
    if (first == reinterpret_cast<EventObject*>(event)->missing ||
        !PyObject_TypeCheck(first, PyDescr_TYPE(descriptor))) {
      Py_RETURN_NONE;
    }
    const PyMethodDef* key = descriptor->d_method;
    if constexpr (!kIsBegin) {
      leave_call(profiler, key);
    } else if (profiler.tally.find(key) != nullptr) [[likely]] {
      enter_call(profiler, key, nullptr);
    } else {
      PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(first));
      PyObject* method = Py_TYPE(callable)->tp_descr_get(callable, first, type);
      if (method == nullptr) return nullptr;
      if (is_c_function(method)) enter_call(profiler, key, method);
      Py_DECREF(method);
    }
  }
  Py_RETURN_NONE;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<PyObject*>(reinterpret_cast<EventObject*>(self)->profiler));
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  auto* event = reinterpret_cast<EventObject*>(self);
  Py_XDECREF(reinterpret_cast<PyObject*>(event->profiler));
  Py_XDECREF(event->missing);
  type->tp_free(self);
  Py_DECREF(type);
}

std::array<PyMemberDef, 2> members{{
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(EventObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
}};

std::array<PyType_Slot, 5> slots{{
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_members, members.data()},
    {0, nullptr},
}};

PyType_Spec spec{"stepscope._core.CallProfilerEvent", sizeof(EventObject), 0,
                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                     Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                 slots.data()};

struct EventKind {
  const char* name;
  vectorcallfunc callback;
};

constexpr std::array<EventKind, 9> kEvents{{
    {"PY_START", on_function<true>},
    {"PY_RESUME", on_function<true>},
    {"PY_THROW", on_function<true>},
    {"PY_RETURN", on_function<false>},
    {"PY_YIELD", on_function<false>},
    {"PY_UNWIND", on_function<false>},
    {"CALL", on_call<true>},
    {"C_RETURN", on_call<false>},
    {"C_RAISE", on_call<false>},
}};

PyTypeObject* event_type = nullptr;  // made once, with the module

PyObject* new_event(ProfilerObject* profiler, vectorcallfunc callback, PyObject* monitoring) {
  PyObject* missing = PyObject_GetAttrString(monitoring, "MISSING");
  if (missing == nullptr) return nullptr;
  auto* event = PyObject_GC_New(EventObject, event_type);
  if (event == nullptr) {
    Py_DECREF(missing);
    return nullptr;
  }
  event->vectorcall = callback;
  Py_INCREF(&profiler->ob_base);
  event->profiler = profiler;
  event->missing = missing;
  PyObject_GC_Track(&event->ob_base);
  return &event->ob_base;
}

// Borrowed; null with an exception set.
PyObject* find_monitoring() {
  PyObject* monitoring = PySys_GetObject("monitoring");
  if (monitoring == nullptr) PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is missing");
  return monitoring;
}

// -1 with an exception set.
int get_int(PyObject* object, const char* name) {
  PyObject* value = PyObject_GetAttrString(object, name);
  if (value == nullptr) return -1;
  const long number = PyLong_AsLong(value);
  Py_DECREF(value);
  return static_cast<int>(number);
}

bool is_done(PyObject* result) {
  Py_XDECREF(result);
  return result != nullptr;
}

bool register_callbacks(PyObject* monitoring, int tool, ProfilerObject* profiler, int& all_events) {
  PyObject* events = PyObject_GetAttrString(monitoring, "events");
  if (events == nullptr) return false;
  all_events = 0;
  bool is_fine = true;
  for (const EventKind& kind : kEvents) {
    const int event = get_int(events, kind.name);
    PyObject* callback =
        profiler == nullptr ? Py_NewRef(Py_None) : new_event(profiler, kind.callback, monitoring);
    is_fine =
        event >= 0 && callback != nullptr &&
        is_done(PyObject_CallMethod(monitoring, "register_callback", "iiO", tool, event, callback));
    Py_XDECREF(callback);
    if (!is_fine) break;
    all_events |= event;
  }
  Py_DECREF(events);
  return is_fine;
}

}  // namespace

bool prepare_profile_hook() {
  if (event_type == nullptr) event_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return event_type != nullptr;
}

bool install_profile_hook(ProfilerObject* self) {
  PyObject* monitoring = find_monitoring();
  if (monitoring == nullptr) return false;
  const int tool = get_int(monitoring, "PROFILER_ID");
  if (tool < 0) return false;
  if (!is_done(PyObject_CallMethod(monitoring, "use_tool_id", "is", tool, "cProfile"))) {
    PyErr_SetString(PyExc_ValueError, "Another profiling tool is already active");
    return false;
  }
  int all_events = 0;
  if (register_callbacks(monitoring, tool, self, all_events) &&
      is_done(PyObject_CallMethod(monitoring, "set_events", "ii", tool, all_events))) {
    return true;
  }
  PyObject* error = PyErr_GetRaisedException();
  if (!is_done(PyObject_CallMethod(monitoring, "free_tool_id", "i", tool))) PyErr_Clear();
  PyErr_SetRaisedException(error);
  return false;
}

bool remove_profile_hook(ProfilerObject* self) {
  if (!self->profiler.is_enabled) return true;
  PyObject* monitoring = find_monitoring();
  if (monitoring == nullptr) return false;
  const int tool = get_int(monitoring, "PROFILER_ID");
  int all_events = 0;
  return tool >= 0 && register_callbacks(monitoring, tool, nullptr, all_events) &&
         is_done(PyObject_CallMethod(monitoring, "set_events", "ii", tool, 0)) &&
         is_done(PyObject_CallMethod(monitoring, "free_tool_id", "i", tool));
}

}  // namespace stepscope::cprofile

#endif
