// Python 3.12 and later: sys.monitoring, with a tool id of our own and callbacks in C.
//
// The interpreter calls them through vectorcall. They are objects of a small type of our own: a
// built-in function would check its arguments, the recursion limit and its result each time.
#include <Python.h>

#if PY_VERSION_HEX >= 0x030C0000

#include <array>
#include <string>
#include <string_view>

#include "collect/python/c_function_labels.h"
#include "collect/python/c_function_name.h"
#include "collect/python/call_writer.h"
#include "collect/python/code_labels.h"
#include "collect/python/frame_argument.h"
#include "collect/python/hooks.h"
#include "collect/python/open_marks.h"
#include "collect/python/traced_thread.h"

namespace stepscope {
namespace {

using Mark = CodeLabels::Mark;

constexpr const char* kToolName = "stepscope";
constexpr int kTools = 6;

struct Callback {
  PyObject_HEAD vectorcallfunc function;
};

PyTypeObject g_callback_type = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "stepscope._core.Callback",
    .tp_basicsize = sizeof(Callback),
    .tp_vectorcall_offset = offsetof(Callback, function),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
};

int g_tool = -1;
PyObject* g_disable = nullptr;  // sys.monitoring.DISABLE
PyObject* g_missing = nullptr;
HookOptions g_options;

// New references, or null with an exception.
PyObject* get_monitoring() {
  PyObject* monitoring = PySys_GetObject("monitoring");
  if (monitoring == nullptr) PyErr_SetString(PyExc_RuntimeError, "there is no sys.monitoring");
  Py_XINCREF(monitoring);
  return monitoring;
}

// Whether it went well; says why not.
template <typename... Args>
Status call(const char* function, const char* format, Args... args) {
  PyObject* monitoring = get_monitoring();
  PyObject* result =
      monitoring == nullptr ? nullptr : PyObject_CallMethod(monitoring, function, format, args...);
  Py_XDECREF(monitoring);
  if (result == nullptr) {
    PyErr_Clear();
    return Status::error(std::string("sys.monitoring.") + function + "() failed");
  }
  Py_DECREF(result);
  return {};
}

long find_constant(const char* name) {
  PyObject* monitoring = get_monitoring();
  PyObject* events = monitoring == nullptr ? nullptr : PyObject_GetAttrString(monitoring, "events");
  PyObject* value = events == nullptr ? nullptr : PyObject_GetAttrString(events, name);
  const long number = value == nullptr ? 0 : PyLong_AsLong(value);
  Py_XDECREF(value);
  Py_XDECREF(events);
  Py_XDECREF(monitoring);
  PyErr_Clear();
  return number;
}

template <typename Calls>
void begin_marked(const PyCodeObject* code, PyFrameObject* frame) {
  OpenMarks::begin<Calls>(code, [frame](int number) { return find_argument(frame, number); });
}

template <typename Calls>
void begin_call(PyFrameObject* frame) {
  PyCodeObject* code = PyFrame_GetCode(frame);
  Py_DECREF(code);  // the frame holds it
  const CodeLabels::Entry entry = CodeLabels::find(code);
  if (entry.label != 0) return Calls::begin(entry.label);
  if (entry.mark == Mark::kMarked) begin_marked<Calls>(code, frame);
}

template <typename Calls>
void open_stack(PyFrameObject* innermost) {
  if (g_options.marks_only) return;
  for (PyFrameObject* frame : find_frames(innermost)) begin_call<Calls>(frame);
}

// The caller of the frame that runs.
PyFrameObject* find_caller() {
  PyFrameObject* frame = PyEval_GetFrame();
  return frame == nullptr ? nullptr : PyFrame_GetBack(frame);
}

const PyCodeObject* code_of(PyObject* const* args) {
  return reinterpret_cast<const PyCodeObject*>(args[0]);
}

// register_callback() gives them back to whoever replaces them, and a program may then call them.
bool is_event(PyObject* const* args, size_t count, Py_ssize_t needed) {
  return PyVectorcall_NARGS(count) >= needed && PyCode_Check(args[0]);
}
PyObject* raise_wrong_call() {
  PyErr_SetString(PyExc_TypeError, "only sys.monitoring calls this");
  return nullptr;
}

// Events of a function that is left out are not asked for again. Those that cannot be turned off
// at one place (a throw, an unwinding) may not be.
PyObject* leave_out(bool can_disable) { return Py_NewRef(can_disable ? g_disable : Py_None); }

// Whether the thread of an event is recorded; what is around the event is opened first.
template <typename Calls>
bool takes_begin() {
  return TracedThread::takes([] {
    PyFrameObject* caller = find_caller();
    open_stack<Calls>(caller);
    Py_XDECREF(caller);
  });
}
template <typename Calls>
bool takes_end() {
  return TracedThread::takes([] { open_stack<Calls>(PyEval_GetFrame()); });
}

// What has no label: marked, left out, or without a name just now.
template <typename Calls, bool kCanDisable>
PyObject* begin_unlabelled(const PyCodeObject* code) {
  const Mark mark = CodeLabels::find(code).mark;
  if (mark != Mark::kMarked) return leave_out(kCanDisable && mark == Mark::kLeftOut);
  PyFrameObject* frame = PyEval_GetFrame();
  if (takes_begin<Calls>() && frame != nullptr) begin_marked<Calls>(code, frame);
  Py_RETURN_NONE;
}
template <typename Calls, bool kCanDisable>
PyObject* end_unlabelled(const PyCodeObject* code) {
  const Mark mark = CodeLabels::find(code).mark;
  if (mark != Mark::kMarked) return leave_out(kCanDisable && mark == Mark::kLeftOut);
  if (takes_end<Calls>()) OpenMarks::end_live<Calls>(code);
  Py_RETURN_NONE;
}

template <typename Calls, bool kCanDisable>
PyObject* on_begin(PyObject*, PyObject* const* args, size_t count, PyObject*) {
  if (!is_event(args, count, 2)) return raise_wrong_call();
  const uint32_t label = CodeLabels::find(code_of(args)).label;
  if (label == 0) [[unlikely]] {
    return begin_unlabelled<Calls, kCanDisable>(code_of(args));
  }
  if (takes_begin<Calls>()) Calls::begin(label);
  Py_RETURN_NONE;
}

template <typename Calls, bool kCanDisable>
PyObject* on_end(PyObject*, PyObject* const* args, size_t count, PyObject*) {
  if (!is_event(args, count, 2)) return raise_wrong_call();
  const uint32_t label = CodeLabels::find(code_of(args)).label;
  if (label == 0) [[unlikely]] {
    return end_unlabelled<Calls, kCanDisable>(code_of(args));
  }
  if (takes_end<Calls>()) Calls::end(label);
  Py_RETURN_NONE;
}

// As cProfile has it: functions and methods that are written in C; neither classes nor objects with
// __call__.
uint32_t find_label(PyObject* callable, PyObject* first_argument) {
  if (is_c_function(callable)) return find_c_function_label(callable);
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type) && first_argument != g_missing) {
    return find_c_method_label(reinterpret_cast<PyMethodDescrObject*>(callable));
  }
  return 0;
}

template <typename Calls, bool kIsBegin>
PyObject* on_c_call(PyObject*, PyObject* const* args, size_t count, PyObject*) {
  if (!is_event(args, count, 4)) return raise_wrong_call();
  const uint32_t label = find_label(args[2], args[3]);
  if (label == 0) Py_RETURN_NONE;
  if (takes_end<Calls>()) kIsBegin ? Calls::begin(label) : Calls::end(label);
  Py_RETURN_NONE;
}

Status register_callback(const char* event, vectorcallfunc function) {
  PyObject* callback = Py_None;
  if (function != nullptr) {
    auto* made = PyObject_New(Callback, &g_callback_type);
    if (made == nullptr) return Status::error("no memory");
    made->function = function;
    callback = reinterpret_cast<PyObject*>(made);
  } else {
    Py_INCREF(callback);
  }
  const Status status = call("register_callback", "ilO", g_tool, find_constant(event), callback);
  Py_DECREF(callback);
  return status;
}

struct Event {
  const char* name;
  vectorcallfunc function;
};

// These may be asked for in one code object alone, which costs nothing in all others.
Status listen_in(PyCodeObject* code, bool is_on) {
  long mask = 0;
  if (is_on) {
    for (const char* event : {"PY_START", "PY_RESUME", "PY_RETURN", "PY_YIELD"}) {
      mask |= find_constant(event);
    }
  }
  return call("set_local_events", "iOl", g_tool, code, mask);
}

template <typename Calls>
Status listen() {
  const std::array events = {
      Event{"PY_START", on_begin<Calls, true>},  Event{"PY_RESUME", on_begin<Calls, true>},
      Event{"PY_THROW", on_begin<Calls, false>}, Event{"PY_RETURN", on_end<Calls, true>},
      Event{"PY_YIELD", on_end<Calls, true>},    Event{"PY_UNWIND", on_end<Calls, false>},
      Event{"CALL", on_c_call<Calls, true>},     Event{"C_RETURN", on_c_call<Calls, false>},
      Event{"C_RAISE", on_c_call<Calls, false>},
  };
  long mask = 0;
  for (const Event& event : events) {
    const bool is_c_call = std::string_view(event.name).find("PY_") != 0;
    if (is_c_call && !g_options.c_calls) continue;
    if (Status status = register_callback(event.name, event.function); !status) return status;
    // CALL stands for all three.
    if (!is_c_call || std::string_view(event.name) == "CALL") mask |= find_constant(event.name);
  }
  if (g_options.marks_only) mask = find_constant("PY_THROW") | find_constant("PY_UNWIND");
  if (Status status = call("set_events", "il", g_tool, mask); !status) return status;
  if (g_options.marks_only) {
    for (PyCodeObject* code : CodeLabels::marked_code()) {
      if (Status status = listen_in(code, true); !status) return status;
    }
  }
  // What an earlier tool of this id, or an earlier filter, had turned off.
  return call("restart_events", nullptr);
}

Status listen_for_all() {
  return g_options.long_calls_only ? listen<LongCalls>() : listen<EveryCall>();
}

bool has_no_caller() {
  PyFrameObject* caller = find_caller();
  Py_XDECREF(caller);
  return caller == nullptr;
}

PyObject* wait_for_main(PyObject*, PyObject* const* args, size_t count, PyObject*) {
  if (!is_event(args, count, 2)) return raise_wrong_call();
  if (has_no_caller() && begins_program(code_of(args))) {
    meet_main_thread();
    if (listen_for_all() && !t_traced.is_left_out && !g_options.marks_only) {
      PyFrameObject* frame = PyEval_GetFrame();
      g_options.long_calls_only ? begin_call<LongCalls>(frame) : begin_call<EveryCall>(frame);
    }
  }
  Py_RETURN_NONE;
}

// Those that have a name of their own come last.
int find_free_tool(std::string& taken) {
  PyObject* monitoring = get_monitoring();
  for (const int tool : {4, 3, 5, 1, 0, 2}) {
    PyObject* name =
        monitoring == nullptr ? nullptr : PyObject_CallMethod(monitoring, "get_tool", "i", tool);
    const bool is_free = name == Py_None;
    const char* text = name != nullptr && !is_free ? PyUnicode_AsUTF8(name) : nullptr;
    if (text != nullptr) taken += (taken.empty() ? "" : ", ") + std::string(text);
    PyErr_Clear();
    Py_XDECREF(name);
    if (is_free) {
      Py_DECREF(monitoring);
      return tool;
    }
  }
  Py_XDECREF(monitoring);
  return -1;
}

Status prepare() {
  if (PyType_Ready(&g_callback_type) != 0) {
    PyErr_Clear();
    return Status::error("no memory");
  }
  PyObject* monitoring = get_monitoring();
  if (monitoring != nullptr && g_disable == nullptr) {
    g_disable = PyObject_GetAttrString(monitoring, "DISABLE");
    g_missing = PyObject_GetAttrString(monitoring, "MISSING");
  }
  Py_XDECREF(monitoring);
  PyErr_Clear();
  return g_disable == nullptr || g_missing == nullptr ? Status::error("there is no sys.monitoring")
                                                      : Status();
}

Status install(const HookOptions& options) {
  if (Status status = prepare(); !status) return status;
  std::string taken;
  g_tool = find_free_tool(taken);
  if (g_tool < 0) {
    return Status::error("all " + std::to_string(kTools) + " places of sys.monitoring are taken (" +
                         taken + ")");
  }
  if (Status status = call("use_tool_id", "is", g_tool, kToolName); !status) return status;
  g_options = options;
  if (!options.from_main) {
    (void)TracedThread::takes([&] {
      PyFrameObject* frame = PyEval_GetFrame();
      options.long_calls_only ? open_stack<LongCalls>(frame) : open_stack<EveryCall>(frame);
    });
    return listen_for_all();
  }
  if (Status status = register_callback("PY_START", wait_for_main); !status) return status;
  if (Status status = call("set_events", "il", g_tool, find_constant("PY_START")); !status) {
    return status;
  }
  return call("restart_events", nullptr);
}

Status remove() {
  // Fails where another tool took the id, for which it has to free ours first.
  Status status = call("set_events", "ii", g_tool, 0);
  if (g_options.marks_only) {
    for (PyCodeObject* code : CodeLabels::marked_code()) (void)listen_in(code, false);
  }
  for (const char* event : {"PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD",
                            "PY_UNWIND", "CALL", "C_RETURN", "C_RAISE"}) {
    (void)register_callback(event, nullptr);
  }
  (void)call("free_tool_id", "i", g_tool);
  g_tool = -1;
  if (!status) return Status::error("another tool freed our place in sys.monitoring");
  return status;
}

// Its events may have been turned off while the filter left it out.
Status on_new_mark(PyCodeObject* code) {
  return g_options.marks_only ? listen_in(code, true) : call("restart_events", nullptr);
}

}  // namespace

const CallHook kMonitoringHook = {install, remove, on_new_mark};

}  // namespace stepscope

#endif  // 3.12 and later
