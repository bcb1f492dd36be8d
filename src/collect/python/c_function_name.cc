#include "collect/python/c_function_name.h"

namespace stepscope {
namespace {

// A new reference, or null without an exception.
PyObject* module_name(PyObject* module) {
  if (module == nullptr) return nullptr;
  if (PyUnicode_Check(module)) return Py_NewRef(module);
  if (!PyModule_Check(module)) return nullptr;
  PyObject* name = PyModule_GetNameObject(module);
  if (name == nullptr) PyErr_Clear();
  return name;
}

PyObject* name_of_function(PyObject* module, const char* name) {
  PyObject* module_text = module_name(module);
  if (module_text == nullptr) return PyUnicode_FromFormat("<%s>", name);
  const bool is_builtin = PyUnicode_CompareWithASCIIString(module_text, "builtins") == 0;
  PyObject* text = is_builtin ? PyUnicode_FromFormat("<%s>", name)
                              : PyUnicode_FromFormat("<%U.%s>", module_text, name);
  Py_DECREF(module_text);
  return text;
}

// What the type of `self` has under that name, shown by its own repr; null without an exception.
PyObject* repr_of_method(PyObject* self, const char* name) {
  PyObject* key = PyUnicode_FromString(name);
  if (key == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  PyObject* method = _PyType_Lookup(Py_TYPE(self), key);  // borrowed, and sets no exception
  Py_XINCREF(method);
  Py_DECREF(key);
  if (method == nullptr) return nullptr;
  PyObject* text = PyObject_Repr(method);
  Py_DECREF(method);
  if (text == nullptr) PyErr_Clear();
  return text;
}

}  // namespace

PyObject* build_c_function_name(PyObject* function) {
  const auto* c_function = reinterpret_cast<PyCFunctionObject*>(function);
  const char* name = c_function->m_ml->ml_name;
  PyObject* module = c_function->m_module;
  // The raw field: of a static method too, which PyCFunction_GET_SELF gives none for.
  if (c_function->m_self == nullptr) return name_of_function(module, name);
  if (PyObject* text = repr_of_method(c_function->m_self, name)) return text;
  if (module != nullptr && PyUnicode_Check(module)) {
    return PyUnicode_FromFormat("<built-in method %S.%s>", module, name);
  }
  return PyUnicode_FromFormat("<built-in method %s>", name);
}

}  // namespace stepscope
