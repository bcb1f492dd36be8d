#include "python/gc_watch.h"

#include <array>
#include <cstdint>
#include <string>

#include "collect/stepscope/record.h"

namespace nb = nanobind;

namespace stepscope {
namespace {

constexpr int kGenerations = 3;

uint32_t find_label(int generation) {
  static std::array<uint32_t, kGenerations> labels{};
  uint32_t& label = labels[static_cast<size_t>(generation)];
  if (label == 0) {
    const std::string name = "garbage collection " + std::to_string(generation);
    label = stepscope_record_table(STEPSCOPE_RECORD_VERSION)
                ->intern(name.data(), name.size(), "gc", 2, STEPSCOPE_OTHER);
  }
  return label;
}

int find_generation(PyObject* info) {
  PyObject* number = PyDict_Check(info) ? PyDict_GetItemString(info, "generation") : nullptr;
  const long generation = number == nullptr ? -1 : PyLong_AsLong(number);
  PyErr_Clear();
  return generation >= 0 && generation < kGenerations ? static_cast<int>(generation) : 0;
}

// An element of gc.callbacks: (phase, info). A function of C, which leaves no frame.
PyObject* on_collection(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  const StepscopeRecordTable* table = stepscope_record_table(STEPSCOPE_RECORD_VERSION);
  if (count == 2 && PyUnicode_Check(arguments[0]) && table->is_recording() != 0) {
    const uint32_t label = find_label(find_generation(arguments[1]));
    const bool is_begin = PyUnicode_CompareWithASCIIString(arguments[0], "start") == 0;
    is_begin ? table->begin(label) : table->end(label);
  }
  Py_RETURN_NONE;
}

PyMethodDef g_method = {"on_garbage_collection",
                        reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(on_collection)),
                        METH_FASTCALL, nullptr};

}  // namespace

void bind_gc_watch(nb::module_& m) {
  m.attr("on_garbage_collection") = nb::steal(PyCFunction_New(&g_method, nullptr));
}

}  // namespace stepscope
