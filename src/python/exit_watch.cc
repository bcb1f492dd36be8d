#include "python/exit_watch.h"

#include "collect/python/tracer.h"
#include "collect/stepscope/record.h"
#include "python/sampler_binding.h"

namespace nb = nanobind;

namespace stepscope {
namespace {

PyObject* g_exit = nullptr;  // the module's own

PyObject* close_and_exit(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"status", nullptr};
  int status = 0;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "i", const_cast<char**>(kNames), &status) != 0) {
    (void)stop_sampling();
    (void)stop_tracer();
    stepscope_record_table(STEPSCOPE_RECORD_VERSION)->stop(nullptr, 0);
  } else {
    PyErr_Clear();  // the module's own says it better
  }
  return PyObject_Call(g_exit, args, kwargs);
}

PyMethodDef g_method = {
    "_exit", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(close_and_exit)),
    METH_VARARGS | METH_KEYWORDS,
    "_exit($module, /, status)\n--\n\n"
    "Exit to the system with specified status, without normal exit processing."};

void watch_exit(nb::object module) {
  if (g_exit != nullptr) return;
  PyObject* own = PyObject_GetAttrString(module.ptr(), "_exit");
  PyObject* name = PyUnicode_FromString("posix");
  PyObject* function = name == nullptr ? nullptr : PyCFunction_NewEx(&g_method, nullptr, name);
  if (own != nullptr && function != nullptr &&
      PyObject_SetAttrString(module.ptr(), "_exit", function) == 0) {
    g_exit = own;
  } else {
    Py_XDECREF(own);
    PyErr_Clear();
  }
  Py_XDECREF(function);
  Py_XDECREF(name);
}

}  // namespace

void bind_exit_watch(nb::module_& m) { m.def("watch_exit", &watch_exit, nb::arg("os")); }

}  // namespace stepscope
