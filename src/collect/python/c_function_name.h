// The name that cProfile gives a function written in C: `<built-in method builtins.len>`,
// `<method 'append' of 'list' objects>`.
#pragma once

#include <Python.h>

namespace stepscope {

// A new reference to a str; null with an exception set. `function` is a PyCFunction.
PyObject* build_c_function_name(PyObject* function);

// As PyCFunction_Check, which walks the bases of what it is not: nothing else inherits from it.
inline bool is_c_function(PyObject* object) {
  return Py_IS_TYPE(object, &PyCFunction_Type) || Py_IS_TYPE(object, &PyCMethod_Type);
}

}  // namespace stepscope
