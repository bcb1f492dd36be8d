#include "collect/python/frame_argument.h"

#if PY_VERSION_HEX < 0x030C0000
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif

namespace stepscope {

#if PY_VERSION_HEX < 0x030C0000

PyObject* find_argument(const _PyInterpreterFrame* frame, int number) {
  if (number >= frame->f_code->co_argcount) return nullptr;
  PyObject* value = frame->localsplus[number];
  // An argument that an inner function uses moves into a cell when the frame begins to run.
  if (value != nullptr && PyCell_Check(value)) value = PyCell_GET(value);
  return Py_XNewRef(value);
}

PyObject* find_argument(PyFrameObject* frame, int number) {
  return find_argument(frame->f_frame, number);
}

#else

PyObject* find_argument(PyFrameObject* frame, int number) {
  PyCodeObject* code = PyFrame_GetCode(frame);
  PyObject* value = nullptr;
  if (number < code->co_argcount) {
    value = PyFrame_GetVar(frame, PyTuple_GET_ITEM(code->co_localsplusnames, number));
    if (value == nullptr) PyErr_Clear();
  }
  Py_DECREF(code);
  return value;
}

#endif

}  // namespace stepscope
