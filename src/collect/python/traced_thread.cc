#include "collect/python/traced_thread.h"

#include <fnmatch.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "collect/recorder/recorder.h"

namespace stepscope {

uint32_t g_tracer_generation = 0;
thread_local TracedThread t_traced;

namespace {

std::string g_name_pattern;

// A plain attribute, without any code of the program's: a class may have its own __getattribute__.
PyObject* find_attribute(PyObject* object, const char* name) {
  PyObject* key = PyUnicode_FromString(name);
  PyObject* value = key == nullptr ? nullptr : PyObject_GenericGetAttr(object, key);
  Py_XDECREF(key);
  if (value == nullptr) PyErr_Clear();
  return value;
}

std::string name_of(PyObject* thread) {
  PyObject* name = find_attribute(thread, "_name");
  std::string text;
  if (name != nullptr && PyUnicode_Check(name)) {
    const char* utf8 = PyUnicode_AsUTF8(name);
    if (utf8 == nullptr) PyErr_Clear();
    text = utf8 == nullptr ? "" : utf8;
  }
  Py_XDECREF(name);
  return text;
}

// threading._active[ident], where the module is loaded and knows the thread. New reference.
PyObject* find_thread() {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "threading");
  if (module == nullptr || !PyModule_Check(module)) return nullptr;
  PyObject* active = PyDict_GetItemString(PyModule_GetDict(module), "_active");
  if (active == nullptr || !PyDict_Check(active)) return nullptr;
  PyObject* ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
  PyObject* thread = ident == nullptr ? nullptr : PyDict_GetItem(active, ident);
  Py_XINCREF(thread);
  Py_XDECREF(ident);
  return thread;
}

std::string system_name() {
  std::array<char, 17> name{};
  ::prctl(PR_GET_NAME, name.data());
  return name.data();
}

// The frame that a thread of the module threading begins with.
PyObject* find_starting_thread() {
  PyFrameObject* frame = PyEval_GetFrame();
  if (frame == nullptr) return nullptr;
  PyCodeObject* code = PyFrame_GetCode(frame);
  const char* name = PyUnicode_AsUTF8(code->co_qualname);
  const bool is_start = name != nullptr && std::string_view(name) == "Thread._bootstrap";
  Py_DECREF(code);
  PyErr_Clear();
  if (!is_start) return nullptr;
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* self = PyFrame_GetVarString(frame, "self");
  if (self == nullptr) PyErr_Clear();
  return self;
#else
  return nullptr;  // frame_hook.cc reads it from the frame
#endif
}

}  // namespace

void TracedThread::start(std::string name_pattern) {
  g_name_pattern = std::move(name_pattern);
  ++g_tracer_generation;
}

bool TracedThread::takes_all() { return g_name_pattern.empty(); }

void TracedThread::meet_as(const std::string& name, bool is_of_threading) {
  generation = g_tracer_generation;
  is_left_out = !takes_all() && ::fnmatch(g_name_pattern.c_str(), name.c_str(), 0) != 0;
  if (!is_left_out && is_of_threading && !name.empty()) Recorder::set_thread_name(name);
}

bool TracedThread::meet() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* thread = find_starting_thread();
  if (thread == nullptr) thread = find_thread();
  meet_as(thread != nullptr ? name_of(thread) : system_name(), thread != nullptr);
  Py_XDECREF(thread);
  PyErr_Restore(type, value, traceback);
  return !is_left_out;
}

void meet_new_thread(PyObject* thread) { t_traced.meet_as(name_of(thread), true); }

void meet_main_thread() { t_traced.meet_as("MainThread", true); }

void name_thread_in_child() {
  PyObject* thread = find_thread();
  Recorder::set_thread_name(thread != nullptr ? name_of(thread) : "MainThread");
  Py_XDECREF(thread);
}

std::vector<PyFrameObject*> find_frames(PyFrameObject* innermost) {
  std::vector<PyFrameObject*> frames;
  for (PyFrameObject* frame = innermost; frame != nullptr;) {
    frames.push_back(frame);
    frame = PyFrame_GetBack(frame);
    Py_XDECREF(frame);  // the interpreter holds it while it runs
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

std::vector<PyCodeObject*> find_codes(PyFrameObject* innermost) {
  std::vector<PyCodeObject*> codes;
  for (PyFrameObject* frame : find_frames(innermost)) {
    codes.push_back(PyFrame_GetCode(frame));
    Py_DECREF(codes.back());
  }
  return codes;
}

bool begins_program(const PyCodeObject* code) {
  const char* name = PyUnicode_AsUTF8(code->co_name);
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  PyErr_Clear();
  return (name != nullptr && std::string_view(name) == "<module>") ||
         (file != nullptr && std::string_view(file).find("runpy") != std::string_view::npos);
}

}  // namespace stepscope
