#include "collect/python/c_function_labels.h"

#include <string>

#include "collect/python/c_function_name.h"
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
  if (!is_c_function(function)) return 0;
  const auto* c_function = reinterpret_cast<const PyCFunctionObject*>(function);
  return find_label(c_function->m_ml, [&] { return take_text(build_c_function_name(function)); });
}

uint32_t find_c_method_label(PyMethodDescrObject* method) {
  return find_label(method->d_method,
                    [&] { return take_text(PyObject_Repr(reinterpret_cast<PyObject*>(method))); });
}

}  // namespace stepscope
