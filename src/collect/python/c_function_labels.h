// The labels of C functions, by the address of their PyMethodDef, with the names that cProfile
// gives them: `<built-in method builtins.len>`, `<method 'append' of 'list' objects>`. With the
// GIL.
#pragma once

#include <cstdint>

#include <Python.h>

namespace stepscope {

// 0: no C function, or no room for its name.
uint32_t find_c_function_label(PyObject* function);
uint32_t find_c_method_label(PyMethodDescrObject* method);

}  // namespace stepscope
