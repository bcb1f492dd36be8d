// getstats(): the list that cProfile's and everybody's code reads.
#include <Python.h>
#include <structseq.h>

#include <array>
#include <unordered_map>
#include <vector>

#include "collect/python/cprofile/profiler_object.h"

namespace stepscope::cprofile {
namespace {

std::array<PyStructSequence_Field, 7> entry_fields{{
    {"code", "code object or built-in function name"},
    {"callcount", "how many times this was called"},
    {"reccallcount", "how many times called recursively"},
    {"totaltime", "total time in this entry"},
    {"inlinetime", "inline time in this entry (not in subcalls)"},
    {"calls", "details of the calls"},
    {nullptr, nullptr},
}};
std::array<PyStructSequence_Field, 6> subentry_fields{{
    {"code", "called code object or built-in function name"},
    {"callcount", "how many times this is called"},
    {"reccallcount", "how many times this is called recursively"},
    {"totaltime", "total time spent in this call"},
    {"inlinetime", "inline time (not in further subcalls)"},
    {nullptr, nullptr},
}};
PyStructSequence_Desc entry_desc{"stepscope._core.profiler_entry", nullptr, entry_fields.data(), 6};
PyStructSequence_Desc subentry_desc{"stepscope._core.profiler_subentry", nullptr,
                                    subentry_fields.data(), 5};

PyTypeObject* entry_type = nullptr;
PyTypeObject* subentry_type = nullptr;

// Building Python objects may run the garbage collector, and so anything, also events that change
// the profiler: so the figures are copied first, with their own references.
struct Row {
  PyObject* code;
  CallTotals totals;
  std::vector<Row> callees;
};

std::vector<Row> copy_rows(const CallTally& tally) {
  std::vector<Row> rows;
  std::unordered_map<const CallEntry*, size_t> row_of;
  for (const CallEntry& entry : tally.entries()) {
    if (entry.calls == 0) continue;
    row_of[&entry] = rows.size();
    rows.push_back({static_cast<PyObject*>(entry.code), entry, {}});
  }
  for (const CallEdge& edge : tally.edges()) {
    const auto found = row_of.find(edge.caller);
    if (found == row_of.end()) continue;
    rows[found->second].callees.push_back({static_cast<PyObject*>(edge.callee->code), edge, {}});
  }
  return rows;
}

template <typename Change>
void change_references(const std::vector<Row>& rows, Change change) {
  for (const Row& row : rows) {
    change(row.code);
    for (const Row& callee : row.callees) change(callee.code);
  }
}

PyObject* build_callees(const std::vector<Row>& callees, double seconds_per_tick);

// Steals nothing; null with an exception set.
PyObject* build_item(PyTypeObject* type, const Row& row, double seconds_per_tick) {
  PyObject* item = PyStructSequence_New(type);
  if (item == nullptr) return nullptr;
  const auto seconds = [&](uint64_t ticks) {
    return PyFloat_FromDouble(seconds_per_tick * static_cast<double>(static_cast<int64_t>(ticks)));
  };
  std::array<PyObject*, 6> values{Py_NewRef(row.code),
                                  PyLong_FromLongLong(row.totals.calls),
                                  PyLong_FromLongLong(row.totals.recursive_calls),
                                  seconds(row.totals.total_ticks),
                                  seconds(row.totals.self_ticks),
                                  nullptr};
  size_t count = 5;
  if (type == entry_type) values[count++] = build_callees(row.callees, seconds_per_tick);
  bool is_whole = true;
  for (size_t i = 0; i < count; ++i) {
    is_whole &= values[i] != nullptr;
    PyStructSequence_SetItem(item, static_cast<Py_ssize_t>(i), values[i]);
  }
  if (is_whole) return item;
  Py_DECREF(item);
  return nullptr;
}

PyObject* build_list(PyTypeObject* type, const std::vector<Row>& rows, double seconds_per_tick) {
  PyObject* list = PyList_New(0);
  if (list == nullptr) return nullptr;
  for (const Row& row : rows) {
    PyObject* item = build_item(type, row, seconds_per_tick);
    const bool is_added = item != nullptr && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    if (!is_added) {
      Py_DECREF(list);
      return nullptr;
    }
  }
  return list;
}

PyObject* build_callees(const std::vector<Row>& callees, double seconds_per_tick) {
  if (callees.empty()) return Py_NewRef(Py_None);
  return build_list(subentry_type, callees, seconds_per_tick);
}

bool add_type(PyObject* module, PyTypeObject*& type, PyStructSequence_Desc& desc) {
  if (type == nullptr) type = PyStructSequence_NewType(&desc);
  return type != nullptr && PyModule_AddType(module, type) == 0;
}

}  // namespace

PyObject* build_stats_list(const CallTally& tally, double seconds_per_tick) {
  std::vector<Row> rows;
  try {
    rows = copy_rows(tally);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  change_references(rows, [](PyObject* object) { Py_INCREF(object); });
  PyObject* list = build_list(entry_type, rows, seconds_per_tick);
  change_references(rows, [](PyObject* object) { Py_DECREF(object); });
  return list;
}

bool add_stats_types(PyObject* module) {
  return add_type(module, entry_type, entry_desc) && add_type(module, subentry_type, subentry_desc);
}

}  // namespace stepscope::cprofile
