#include "collect/python/c_function_labels.h"

#include <string>

#include "collect/recorder/intern_cache.h"
#include "collect/recorder/recorder.h"
#include "collect/stepscope/record.h"

namespace stepscope {
namespace {

InternCache<8192> g_labels;

std::string take_text(PyObject* text) {
  const char* utf8 = text == nullptr ? nullptr : PyUnicode_AsUTF8(text);
  std::string result = utf8 == nullptr ? "" : utf8;
  PyErr_Clear();
  Py_XDECREF(text);
  return result;
}

std::string module_of(const PyCFunctionObject* function) {
  PyObject* module = function->m_module;
  if (module == nullptr) return "";
  if (PyUnicode_Check(module)) {
    Py_INCREF(module);
    return take_text(module);
  }
  return PyModule_Check(module) ? take_text(PyModule_GetNameObject(module)) : "";
}

std::string name_of(const PyCFunctionObject* function) {
  const char* name = function->m_ml->ml_name;
  PyObject* self = function->m_self;
  if (self != nullptr && !PyModule_Check(self)) {
    PyObject* key = PyUnicode_FromString(name);
    PyObject* method = key == nullptr ? nullptr : _PyType_Lookup(Py_TYPE(self), key);
    Py_XDECREF(key);
    if (method != nullptr &&
        (Py_IS_TYPE(method, &PyMethodDescr_Type) || Py_IS_TYPE(method, &PyClassMethodDescr_Type))) {
      if (std::string text = take_text(PyObject_Repr(method)); !text.empty()) return text;
    }
  }
  const std::string module = module_of(function);
  return "<built-in method " + (module.empty() ? "" : module + ".") + name + ">";
}

template <typename MakeName>
uint32_t find_label(const PyMethodDef* method, MakeName&& make_name) {
  return g_labels.find(method, [&] {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const uint32_t label = Recorder::definitions().label(make_name(), "c_function", STEPSCOPE_CALL);
    PyErr_Restore(type, value, traceback);
    return label;
  });
}

}  // namespace

uint32_t find_c_function_label(PyObject* function) {
  if (!PyCFunction_Check(function)) return 0;
  const auto* c_function = reinterpret_cast<const PyCFunctionObject*>(function);
  return find_label(c_function->m_ml, [&] { return name_of(c_function); });
}

uint32_t find_c_method_label(PyMethodDescrObject* method) {
  return find_label(method->d_method,
                    [&] { return take_text(PyObject_Repr(reinterpret_cast<PyObject*>(method))); });
}

}  // namespace stepscope
