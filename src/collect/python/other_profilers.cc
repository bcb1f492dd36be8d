#include "collect/python/other_profilers.h"

#include <algorithm>
#include <string_view>

#include "collect/python/tracer.h"
#include "collect/recorder/recorder.h"
#include "collect/stepscope/record.h"
#include "format/pool_layout.h"

namespace stepscope {
namespace {

std::vector<std::string> g_told;

void tell(std::string_view name) {
  if (std::find(g_told.begin(), g_told.end(), name) != g_told.end()) return;
  g_told.emplace_back(name);
  const uint32_t label =
      Recorder::definitions().label(name, format::kOtherProfilersCategory, STEPSCOPE_INSTANT);
  append_record(format::RecordKind::kInstant, label);
}

// What the hook's object is called; a function in Python has no better name than that.
std::string_view name_of(PyObject* object) {
  const std::string_view type = object == nullptr ? "" : Py_TYPE(object)->tp_name;
  if (type == "_lsprof.Profiler" || type == "Profile") return "cProfile";
  for (const std::string_view known : {"viztracer", "yappi", "coverage", "pyinstrument"}) {
    if (type.find(known) != type.npos) return known;
  }
  if (type == "snaptrace.Tracer") return "viztracer";
  return type == "CTracer" ? "coverage" : "a function of sys.setprofile() or sys.settrace()";
}

#if PY_VERSION_HEX >= 0x030C0000
// sys.monitoring's tools, but for ours.
void look_at_monitoring() {
  PyObject* monitoring = PySys_GetObject("monitoring");
  constexpr int kTools = 6;
  for (int tool = 0; monitoring != nullptr && tool < kTools; ++tool) {
    PyObject* name = PyObject_CallMethod(monitoring, "get_tool", "i", tool);
    const char* text = name == nullptr || name == Py_None ? nullptr : PyUnicode_AsUTF8(name);
    if (text != nullptr && std::string_view(text) != "stepscope") tell(text);
    PyErr_Clear();
    Py_XDECREF(name);
  }
}
#else
void look_at_monitoring() {}
#endif

// Where torch is not loaded, its profiler does not run.
void look_at_torch() {
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C");
  PyObject* autograd = torch == nullptr ? nullptr : PyObject_GetAttrString(torch, "_autograd");
  PyObject* is_enabled =
      autograd == nullptr ? nullptr : PyObject_CallMethod(autograd, "_profiler_enabled", nullptr);
  if (is_enabled == Py_True) tell("torch.profiler");
  PyErr_Clear();
  Py_XDECREF(is_enabled);
  Py_XDECREF(autograd);
}

}  // namespace

void look_for_other_profilers() {
  const PyThreadState* thread = PyThreadState_Get();
  // Ours has no object.
  if (thread->c_profilefunc != nullptr && thread->c_profileobj != nullptr) {
    tell(name_of(thread->c_profileobj));
  }
  if (thread->c_tracefunc != nullptr) tell(name_of(thread->c_traceobj));
  look_at_monitoring();
}

void note_if_profiler(const PyCodeObject* code) {
  const char* name = PyUnicode_AsUTF8(code->co_qualname);
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  PyErr_Clear();
  if (name == nullptr || file == nullptr) return;
  if (std::string_view(name) == "_KinetoProfile.start_trace" &&
      std::string_view(file).ends_with("torch/profiler/profiler.py")) {
    tell("torch.profiler");
  }
}

void look_for_running_profilers() {
  g_told.clear();
  look_for_other_profilers();
  look_at_torch();
}

const std::vector<std::string>& other_profilers() { return g_told; }

}  // namespace stepscope
