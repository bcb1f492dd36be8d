#include "collect/python/callable_mark.h"

#include <cstring>
#include <utility>

#include "collect/python/code_labels.h"
#include "collect/python/module_labels.h"
#include "collect/python/tracer.h"

namespace stepscope {
namespace {

// What is around the function that does the work, one layer of it. Borrowed; null: none.
PyObject* unwrap(PyObject* callable) {
  if (PyMethod_Check(callable)) return PyMethod_GET_FUNCTION(callable);
  if (PyFunction_Check(callable)) {
    PyObject* attributes = reinterpret_cast<PyFunctionObject*>(callable)->func_dict;
    return attributes == nullptr ? nullptr : PyDict_GetItemString(attributes, "__wrapped__");
  }
  if (std::strcmp(Py_TYPE(callable)->tp_name, "functools.partial") == 0) {
    PyObject* function = PyObject_GetAttrString(callable, "func");
    Py_XDECREF(function);  // the partial holds it
    return function;
  }
  // A module's __call__ is that of all modules, and has a slice already.
  if (ModuleLabels::is_module(callable)) return nullptr;
  PyObject* name = PyUnicode_InternFromString("__call__");
  PyObject* method = name == nullptr ? nullptr : _PyType_Lookup(Py_TYPE(callable), name);
  Py_XDECREF(name);
  return method != nullptr && PyFunction_Check(method) ? method : nullptr;
}

}  // namespace

void mark_callable(PyObject* callable, CodeMark mark) {
  constexpr int kLayers = 16;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  for (int i = 0; i < kLayers; ++i) {
    PyObject* inner = unwrap(callable);
    if (inner == nullptr) break;
    callable = inner;
  }
  PyErr_Clear();
  if (PyFunction_Check(callable)) {
    PyObject* code = PyFunction_GET_CODE(callable);
    if (CodeLabels::find_mark(reinterpret_cast<PyCodeObject*>(code)) == nullptr) {
      (void)mark_code(code, std::move(mark));  // where it fails, that slice is missing
    }
  }
  PyErr_Restore(type, value, traceback);
}

}  // namespace stepscope
