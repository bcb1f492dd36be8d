#include "collect/python/cprofile/call_profiler.h"

#include <Python.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "collect/python/c_function_name.h"
#include "collect/python/cprofile/profile_clock.h"
#include "collect/python/cprofile/profiler_object.h"

namespace stepscope::cprofile {

CallEntry* add_entry(CallProfiler& profiler, const void* key, PyObject* function) {
  PyObject* code = is_c_function(function) ? build_c_function_name(function) : Py_NewRef(function);
  if (code == nullptr) {
    PyErr_Clear();
    profiler.lost_memory = true;
    return nullptr;
  }
  // Naming may have run Python code, and with it other threads.
  CallEntry* entry = profiler.tally.find(key);
  if (entry == nullptr) {
    try {
      return &profiler.tally.add(key, code);
    } catch (const std::bad_alloc&) {
      profiler.lost_memory = true;
    }
  }
  Py_DECREF(code);
  return entry;
}

namespace {

uint64_t read_timer(CallProfiler& profiler) {
  const unsigned long thread = PyThread_get_thread_ident();
  PyObject* timer = Py_NewRef(profiler.timer);
  std::vector<unsigned long>& threads = profiler.threads_in_timer;
  threads.push_back(thread);
  const uint64_t now = read_user_timer(timer, profiler.timer_unit > 0);
  threads.erase(std::find(threads.begin(), threads.end(), thread));
  Py_DECREF(timer);
  return now;
}

}  // namespace

void start_by_timer(CallProfiler& profiler) {
  const size_t index = profiler.tally.depth() - 1;
  const uint64_t generation = profiler.generation;
  const uint64_t now = read_timer(profiler);
  if (profiler.generation != generation || index >= profiler.tally.depth()) return;
  profiler.tally.open_call(index).start_ticks = now;
}

void leave_by_timer(CallProfiler& profiler, CallEntry& entry) {
  const uint64_t generation = profiler.generation;
  const uint64_t now = read_timer(profiler);
  if (profiler.generation != generation || profiler.tally.depth() == 0) return;
  profiler.tally.close(entry, now, profiler.keeps_edges);
}

namespace {

CallProfiler& profiler_of(PyObject* self) {
  return reinterpret_cast<ProfilerObject*>(self)->profiler;
}

// Taken out of the profiler before anything is released: that may run code that profiles.
void clear_tally(CallProfiler& profiler) {
  const CallTally old = std::exchange(profiler.tally, CallTally());
  ++profiler.generation;
  for (const CallEntry& entry : old.entries()) Py_DECREF(static_cast<PyObject*>(entry.code));
}

void close_open_calls(CallProfiler& profiler) {
  CallTally& tally = profiler.tally;
  // As many as there are now: while a timer runs, other threads may open more.
  for (size_t left = tally.depth(); left > 0 && tally.depth() > 0; --left) {
    if (profiler.timer != nullptr) {
      leave_by_timer(profiler, *tally.top().entry);
    } else {
      tally.close(*tally.top().entry, read_ticks(), profiler.keeps_edges);
    }
  }
}

bool refuse_in_timer(const CallProfiler& profiler, const char* what) {
  const auto& threads = profiler.threads_in_timer;
  if (std::find(threads.begin(), threads.end(), PyThread_get_thread_ident()) == threads.end()) {
    return false;
  }
  PyErr_Format(PyExc_RuntimeError, "cannot %s profiler in external timer", what);
  return true;
}

bool raise_lost_memory(CallProfiler& profiler) {
  if (!std::exchange(profiler.lost_memory, false)) return false;
  PyErr_SetString(PyExc_MemoryError, "memory was exhausted while profiling");
  return true;
}

PyObject* enable(PyObject* self, PyObject* args, PyObject* kwargs) {
  CallProfiler& profiler = profiler_of(self);
  int subcalls = -1;
  int builtins = -1;
  static const std::array<const char*, 3> names{"subcalls", "builtins", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|pp:enable", const_cast<char**>(names.data()),
                                   &subcalls, &builtins)) {
    return nullptr;
  }
  if (subcalls >= 0) profiler.keeps_edges = subcalls > 0;
  if (builtins >= 0) profiler.keeps_builtins = builtins > 0;
  if (!install_profile_hook(reinterpret_cast<ProfilerObject*>(self))) return nullptr;
  profiler.is_enabled = true;
  Py_RETURN_NONE;
}

PyObject* disable(PyObject* self, PyObject*) {
  CallProfiler& profiler = profiler_of(self);
  if (refuse_in_timer(profiler, "disable")) return nullptr;
  if (!remove_profile_hook(reinterpret_cast<ProfilerObject*>(self))) return nullptr;
  const bool was_enabled = std::exchange(profiler.is_enabled, false);
  close_open_calls(profiler);
  // Kept, so that the same figures are the same seconds whenever they are asked for.
  if (was_enabled) profiler.seconds_per_tick = measure_seconds_per_tick();
  if (raise_lost_memory(profiler)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* clear(PyObject* self, PyObject*) {
  CallProfiler& profiler = profiler_of(self);
  if (refuse_in_timer(profiler, "clear")) return nullptr;
  clear_tally(profiler);
  Py_RETURN_NONE;
}

PyObject* getstats(PyObject* self, PyObject*) {
  CallProfiler& profiler = profiler_of(self);
  if (raise_lost_memory(profiler)) return nullptr;
  double seconds_per_tick = profiler.seconds_per_tick;
  if (profiler.timer != nullptr) {
    seconds_per_tick = profiler.timer_unit == 0 ? 1e-9 : profiler.timer_unit;
  } else if (profiler.is_enabled || seconds_per_tick == 0) {
    seconds_per_tick = measure_seconds_per_tick();
  }
  return build_stats_list(profiler.tally, seconds_per_tick);
}

PyObject* create(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) new (&profiler_of(self)) CallProfiler();
  return self;
}

int init(PyObject* self, PyObject* args, PyObject* kwargs) {
  CallProfiler& profiler = profiler_of(self);
  PyObject* timer = nullptr;
  double timer_unit = 0;
  int subcalls = 1;
  int builtins = 1;
  static const std::array<const char*, 5> names{"timer", "timeunit", "subcalls", "builtins",
                                                nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Odpp:Profiler", const_cast<char**>(names.data()),
                                   &timer, &timer_unit, &subcalls, &builtins)) {
    return -1;
  }
  if (timer == Py_None) timer = nullptr;
  profiler.timer_unit = timer_unit;
  profiler.keeps_edges = subcalls != 0;
  profiler.keeps_builtins = builtins != 0;
  Py_XINCREF(timer);
  Py_XDECREF(std::exchange(profiler.timer, timer));
  return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(profiler_of(self).timer);
  return 0;
}

int clear_references(PyObject* self) {
  Py_CLEAR(profiler_of(self).timer);
  return 0;
}

// A hook holds a reference to the profiler, so none is left; what is open is of no use to anyone.
void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  clear_tally(profiler_of(self));
  Py_CLEAR(profiler_of(self).timer);
  profiler_of(self).~CallProfiler();
  type->tp_free(self);
  Py_DECREF(type);
}

PyDoc_STRVAR(kDoc,
             "CallProfiler(timer=None, timeunit=0.0, subcalls=True, builtins=True)\n\n"
             "Counts and times calls, as _lsprof.Profiler does. A timer returns seconds or, where "
             "timeunit\nis given, integers of that many seconds.");
PyDoc_STRVAR(kEnableDoc,
             "enable(subcalls=True, builtins=True)\n\n"
             "Starts to collect: with subcalls also by caller, with builtins also calls of C "
             "functions.");
PyDoc_STRVAR(kDisableDoc, "disable()\n\nStops to collect; calls that are open end here.");
PyDoc_STRVAR(kClearDoc, "clear()\n\nForgets what was collected.");
PyDoc_STRVAR(
    kGetstatsDoc,
    "getstats() -> list of profiler_entry\n\n"
    "What was collected, by function; `calls` has the same by function called, or is None.");

std::array<PyMethodDef, 5> methods{{
    {"enable", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(enable)),
     METH_VARARGS | METH_KEYWORDS, kEnableDoc},
    {"disable", disable, METH_NOARGS, kDisableDoc},
    {"clear", clear, METH_NOARGS, kClearDoc},
    {"getstats", getstats, METH_NOARGS, kGetstatsDoc},
    {nullptr, nullptr, 0, nullptr},
}};

std::array<PyType_Slot, 8> slots{{
    {Py_tp_doc, const_cast<char*>(kDoc)},
    {Py_tp_methods, methods.data()},
    {Py_tp_new, reinterpret_cast<void*>(create)},
    {Py_tp_init, reinterpret_cast<void*>(init)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_references)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {0, nullptr},
}};

// cProfile's own name: it is in every table ("method 'disable' of '_lsprof.Profiler' objects"), and
// people filter by it.
PyType_Spec spec{
    "_lsprof.Profiler", sizeof(ProfilerObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    slots.data()};

}  // namespace

bool add_call_profiler(_object* module) {
  measure_seconds_per_tick();
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) return false;
  const bool is_added = PyModule_AddObjectRef(module, "CallProfiler", type) == 0;
  Py_DECREF(type);
  return is_added && add_stats_types(module) && prepare_profile_hook();
}

}  // namespace stepscope::cprofile
