#include "python/call_watch.h"

#include <nanobind/stl/string.h>

#include <string>

namespace nb = nanobind;

namespace stepscope {
namespace {

// Stands in a class or a module for a function: looks like it, and has it called between two
// callbacks. In C, so that there is no frame of ours in tracebacks and stacks.
struct WatchedFunction {
  PyObject_HEAD PyObject* function;
  PyObject* before;  // before(args, kwargs or None)
  PyObject* after;   // after(args, has_failed), or None
};

WatchedFunction* as_watched(PyObject* object) { return reinterpret_cast<WatchedFunction*>(object); }

// Errors of callbacks are none of the caller's.
void tell(PyObject* callback, PyObject* args, PyObject* second) {
  PyObject* told = PyObject_CallFunctionObjArgs(callback, args, second, nullptr);
  if (told == nullptr) PyErr_WriteUnraisable(callback);
  Py_XDECREF(told);
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  const WatchedFunction* watched = as_watched(self);
  // A callback may put the function back in place of this.
  PyObject* function = Py_NewRef(watched->function);
  PyObject* after = Py_NewRef(watched->after);
  tell(watched->before, args, kwargs == nullptr ? Py_None : kwargs);
  PyObject* result = PyObject_Call(function, args, kwargs);
  if (after != Py_None) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    tell(after, args, result == nullptr ? Py_True : Py_False);
    PyErr_Restore(type, value, traceback);
  }
  Py_DECREF(after);
  Py_DECREF(function);
  return result;
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  return object == nullptr || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

// A function is pickled by its name.
PyObject* reduce(PyObject* self, PyObject*) {
  return PyObject_GetAttrString(as_watched(self)->function, "__qualname__");
}

PyMethodDef g_methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                           {"__reduce_ex__", reduce, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

PyObject* get_attribute(PyObject* self, PyObject* name) {
  for (const PyMethodDef* own = g_methods; own->ml_name != nullptr; ++own) {
    if (PyUnicode_CompareWithASCIIString(name, own->ml_name) == 0) {
      return PyObject_GenericGetAttr(self, name);
    }
  }
  return PyObject_GetAttr(as_watched(self)->function, name);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  return PyObject_SetAttr(as_watched(self)->function, name, value);
}

PyObject* represent(PyObject* self) { return PyObject_Repr(as_watched(self)->function); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  const WatchedFunction* watched = as_watched(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(watched->function);
  Py_VISIT(watched->before);
  Py_VISIT(watched->after);
  return 0;
}

int clear(PyObject* self) {
  WatchedFunction* watched = as_watched(self);
  Py_CLEAR(watched->function);
  Py_CLEAR(watched->before);
  Py_CLEAR(watched->after);
  return 0;
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

template <typename F>
void* as_slot(F* function) {
  return reinterpret_cast<void*>(function);
}

PyTypeObject* find_type() {
  static PyType_Slot slots[] = {{Py_tp_call, as_slot(call)},
                                {Py_tp_descr_get, as_slot(bind)},
                                {Py_tp_getattro, as_slot(get_attribute)},
                                {Py_tp_setattro, as_slot(set_attribute)},
                                {Py_tp_repr, as_slot(represent)},
                                {Py_tp_methods, g_methods},
                                {Py_tp_traverse, as_slot(traverse)},
                                {Py_tp_clear, as_slot(clear)},
                                {Py_tp_dealloc, as_slot(deallocate)},
                                {0, nullptr}};
  static PyType_Spec spec = {"stepscope._core.WatchedFunction", sizeof(WatchedFunction), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  static PyTypeObject* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return type;
}

// Whether the class or module has it and takes the replacement. Does not look into base classes.
bool watch_calls(nb::object owner, const std::string& name, nb::object before, nb::object after) {
  nb::object members = nb::getattr(owner, "__dict__", nb::none());
  if (members.is_none() || !nb::cast<bool>(members.attr("__contains__")(name.c_str())))
    return false;
  nb::object function = members[name.c_str()];
  PyTypeObject* type = find_type();
  if (type == nullptr || !PyCallable_Check(function.ptr()) || Py_TYPE(function.ptr()) == type) {
    PyErr_Clear();
    return false;
  }
  PyObject* object = type->tp_alloc(type, 0);
  if (object == nullptr) throw nb::python_error();
  WatchedFunction* watched = as_watched(object);
  watched->function = function.release().ptr();
  watched->before = before.release().ptr();
  watched->after = after.release().ptr();
  const bool is_set = PyObject_SetAttrString(owner.ptr(), name.c_str(), object) == 0;
  PyErr_Clear();
  Py_DECREF(object);
  return is_set;
}

}  // namespace

void bind_call_watch(nb::module_& m) {
  m.def("watch_calls", &watch_calls, nb::arg("owner"), nb::arg("name"), nb::arg("before"),
        nb::arg("after").none() = nb::none());
}

}  // namespace stepscope
