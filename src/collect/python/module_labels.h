// ModuleLabels: the labels of calls of modules (torch.nn.Module), by the module's path in the model
// that it is part of: `nn.Module: encoder.layers.0 (Linear)`; the model itself is `nn.Module: Net`.
//
//   uint32_t label = ModuleLabels::find(module, outermost);   // with the GIL, which is the lock
//
// The first call of a model names all that is below it: its `_modules`, and theirs, are read with
// the C API, so that no Python code runs within the hook of a call, and nothing has to be turned
// off meanwhile. A module that is called later on and was not there then (or is no part of the
// model at all) is looked for again, less and less often where that is in vain.
//
// A module that is part of two models keeps the name that it has in the first one that was called;
// but where one model is part of the other it gets the name that it has in the outer one.
//
// Modules are known by their address. A weak reference tells when one dies, before another can be
// made at the same place.
#pragma once

#include <cstdint>

#include <Python.h>

namespace stepscope {

class ModuleLabels {
 public:
  ModuleLabels() = delete;

  // `outermost`: the module whose call is around this one and in no other's; null: this one.
  // 0: it has no label.
  static uint32_t find(PyObject* module, PyObject* outermost);

  // Whether an object has a dictionary `_modules`. Leaves no exception.
  static bool is_module(PyObject* object);
};

}  // namespace stepscope
