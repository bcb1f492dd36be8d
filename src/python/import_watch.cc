#include "python/import_watch.h"

namespace nb = nanobind;

namespace stepscope {
namespace {

constexpr const char* kMethod = "exec_module";

// loader.exec_module(module) of the loader's own class, then callback(module). In C, so that there
// is no frame of ours in the tracebacks, the warnings and the stack of what the module runs.
PyObject* load_and_tell(PyObject* watch, PyObject* module) {
  PyObject* loader = PyTuple_GET_ITEM(watch, 0);
  PyObject* callback = PyTuple_GET_ITEM(watch, 1);
  PyObject* before = PyTuple_GET_ITEM(watch, 2);
  // Null deletes it.
  if (PyObject_SetAttrString(loader, kMethod, before == Py_None ? nullptr : before) != 0) {
    PyErr_Clear();
  }
  PyObject* result = PyObject_CallMethod(loader, kMethod, "O", module);
  if (result == nullptr) return nullptr;
  PyObject* told = PyObject_CallOneArg(callback, module);
  if (told == nullptr) PyErr_WriteUnraisable(callback);
  Py_XDECREF(told);
  return result;
}

PyMethodDef g_method = {kMethod, load_and_tell, METH_O, nullptr};

// What the loader itself has there, not its class. New reference, or None.
PyObject* find_own_method(PyObject* loader) {
  PyObject* attributes = PyObject_GenericGetDict(loader, nullptr);
  PyObject* own = attributes == nullptr ? nullptr : PyDict_GetItemString(attributes, kMethod);
  own = Py_NewRef(own == nullptr ? Py_None : own);
  Py_XDECREF(attributes);
  PyErr_Clear();
  return own;
}

// The loader calls `callback` once, after it has executed a module: by an attribute of the loader
// alone, gone before the module runs. False: such an attribute is not possible.
bool watch_loader(nb::object loader, nb::object callback) {
  if (PyType_Check(loader.ptr())) return false;  // one for all modules of its sort
  PyObject* before = find_own_method(loader.ptr());
  PyObject* watch = PyTuple_Pack(3, loader.ptr(), callback.ptr(), before);
  Py_DECREF(before);
  PyObject* method = watch == nullptr ? nullptr : PyCFunction_New(&g_method, watch);
  const bool is_set =
      method != nullptr && PyObject_SetAttrString(loader.ptr(), kMethod, method) == 0;
  PyErr_Clear();
  Py_XDECREF(method);
  Py_XDECREF(watch);
  return is_set;
}

}  // namespace

void bind_import_watch(nb::module_& m) {
  m.def("watch_loader", &watch_loader, nb::arg("loader"), nb::arg("callback"));
}

}  // namespace stepscope
