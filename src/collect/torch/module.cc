// The extension module stepscope._torch_<version>: starts and stops the observers of PyTorch. It is
// built for one version of PyTorch (python/stepscope/_build_torch.py) and takes the recorder of the
// process from the capsule that the package has.
#include <ATen/Parallel.h>
#include <Python.h>
#include <stepscope/record.h>
#include <torch/version.h>

#include <exception>

#include "collect/torch/memory_observer.h"
#include "collect/torch/operator_observer.h"

namespace stepscope::torch {
namespace {

constexpr uint32_t kTableBytes = sizeof(StepscopeRecordTable);

// Programs set it once, after PyTorch is loaded: so it is told at the end too.
void write_threads() {
  static const Counter threads("PyTorch threads");
  threads.set_int(at::get_num_threads());
}

PyObject* start(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"inputs",      "memory",      "sampling", "sample_rate",
                                       "as_profiler", "scopes_only", nullptr};
  int inputs = 0, memory = 0, as_profiler = 0, scopes_only = 0;
  double sampling = 1;
  unsigned int sample_rate = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$ppdIpp", const_cast<char**>(kNames), &inputs,
                                   &memory, &sampling, &sample_rate, &as_profiler, &scopes_only)) {
    return nullptr;
  }
  if (OperatorObserver::is_running()) {
    PyErr_SetString(PyExc_RuntimeError, "the operators of this process are being recorded already");
    return nullptr;
  }
  const MemoryDetail detail = memory != 0       ? MemoryDetail::kEach
                              : sample_rate > 0 ? MemoryDetail::kCounters
                                                : MemoryDetail::kNone;
  try {
    if (detail != MemoryDetail::kNone || as_profiler != 0) MemoryObserver::start(detail);
    OperatorObserver::start({.scopes_only = scopes_only != 0,
                             .inputs = inputs != 0,
                             .sampling = sampling,
                             .sample_rate = sample_rate});
    write_threads();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* stop(PyObject*, PyObject*) {
  if (OperatorObserver::is_running()) write_threads();
  // The thread that samples does not need it, and the caller of an operator may.
  Py_BEGIN_ALLOW_THREADS OperatorObserver::stop();
  MemoryObserver::stop();
  Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

// Gives the slot of this thread back, before torch.profiler needs it.
PyObject* stop_memory(PyObject*, PyObject*) {
  MemoryObserver::stop();
  Py_RETURN_NONE;
}

PyObject* is_memory_free(PyObject*, PyObject*) {
  return PyBool_FromLong(MemoryObserver::is_free());
}

PyObject* continue_in_child(PyObject*, PyObject*) {
  OperatorObserver::continue_in_child();
  Py_RETURN_NONE;
}

PyMethodDef g_methods[] = {
    {"start", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(start)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"stop", stop, METH_NOARGS, nullptr},
    {"stop_memory", stop_memory, METH_NOARGS, nullptr},
    {"is_memory_free", is_memory_free, METH_NOARGS, nullptr},
    {"continue_in_child", continue_in_child, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT, "_torch", nullptr, -1, g_methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace stepscope::torch

// One name for all versions: the file's name tells them apart.
extern "C" __attribute__((visibility("default"))) PyObject* PyInit__torch() {
  using namespace stepscope::torch;
  const auto* table =
      static_cast<const StepscopeRecordTable*>(PyCapsule_Import("stepscope._core.record_table", 0));
  if (table == nullptr) return nullptr;
  if (table->version != STEPSCOPE_RECORD_VERSION || table->bytes < kTableBytes) {
    PyErr_SetString(PyExc_ImportError, "built for another version of stepscope");
    return nullptr;
  }
  stepscope::use_table(table);
  PyObject* module = PyModule_Create(&g_module);
  if (module != nullptr) {
    PyModule_AddStringConstant(module, "torch_version", TORCH_VERSION);
  }
  return module;
}
