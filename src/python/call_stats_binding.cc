#include "python/call_stats_binding.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/call_stats.h"
#include "base/flat_map.h"
#include "export/prof.h"
#include "export/prof_encoder.h"
#include "ingest/prof_decoder.h"
#include "python/trace_fault.h"
#include "trace/trace.h"

namespace nb = nanobind;

namespace stepscope {
namespace {

struct Rows {
  CallStats::Rows rows;
};

nb::object to_text(std::string_view text) {
  PyObject* const object =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass");
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

// A profile from Python's dictionary of it. Texts and functions come again and again as the same
// objects, and are known by their addresses: none of them can go while the dictionary is read, as
// nothing is called that could change it.
class DictReader {
 public:
  CallProfile read(nb::handle stats) {
    check(PyDict_Check(stats.ptr()), "a profile must be a dict");
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(stats.ptr(), &position, &key, &value) != 0) {
      check(PyTuple_Check(value) && PyTuple_GET_SIZE(value) == 5,
            "the figures of a function must be a tuple of 5");
      const uint32_t function = read_function(key);
      CallFigures figures;
      figures.primitive_calls = read_int(PyTuple_GET_ITEM(value, 0));
      figures.calls = read_int(PyTuple_GET_ITEM(value, 1));
      figures.self_s = read_seconds(PyTuple_GET_ITEM(value, 2));
      figures.total_s = read_seconds(PyTuple_GET_ITEM(value, 3));
      std::vector<CallProfile::Caller> callers = read_callers(PyTuple_GET_ITEM(value, 4));
      CallProfile::Entry& entry = profile_.add_entry(function);
      entry.figures = figures;
      entry.callers = std::move(callers);
    }
    return std::move(profile_);
  }

 private:
  static void check(bool is_sound, const char* message) {
    if (!is_sound) throw nb::type_error(message);
  }
  static uint64_t address(PyObject* object) { return reinterpret_cast<uintptr_t>(object); }
  static int64_t read_int(PyObject* object) {
    check(PyLong_Check(object), "counts and lines must be int");
    const long long value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    return value;
  }
  static double read_seconds(PyObject* object) {
    check(PyFloat_Check(object) || PyLong_Check(object), "times must be float or int");
    const double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
    return value;
  }
  StringId read_text(PyObject* object) {
    if (const uint32_t* known = texts_.find(address(object))) return StringId{*known};
    const StringId text = read_new_text(object);
    texts_.try_emplace(address(object), index(text));
    return text;
  }
  StringId read_new_text(PyObject* object) {
    check(PyUnicode_Check(object), "a function's file and name must be str");
    Py_ssize_t size = 0;
    if (const char* text = PyUnicode_AsUTF8AndSize(object, &size)) {
      return profile_.strings().intern({text, static_cast<size_t>(size)});
    }
    PyErr_Clear();  // a lone surrogate
    const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(object, "utf-8", "surrogatepass"));
    if (!bytes.is_valid()) throw nb::python_error();
    return profile_.strings().intern(
        {PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr()))});
  }
  uint32_t read_function(PyObject* key) {
    if (const uint32_t* known = functions_.find(address(key))) return *known;
    const uint32_t function = read_new_function(key);
    functions_.try_emplace(address(key), function);
    return function;
  }
  uint32_t read_new_function(PyObject* key) {
    check(PyTuple_Check(key) && PyTuple_GET_SIZE(key) == 3,
          "a function must be a tuple (file, line, name)");
    CallProfile::Function function;
    function.file = read_text(PyTuple_GET_ITEM(key, 0));
    function.line = read_int(PyTuple_GET_ITEM(key, 1));
    function.name = read_text(PyTuple_GET_ITEM(key, 2));
    return profile_.add_function(function);
  }
  std::vector<CallProfile::Caller> read_callers(PyObject* dict) {
    check(PyDict_Check(dict), "the callers of a function must be a dict");
    std::vector<CallProfile::Caller> callers;
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict, &position, &key, &value) != 0) {
      CallProfile::Caller caller;
      caller.function = read_function(key);
      caller.has_times = PyTuple_Check(value);
      CallFigures& figures = caller.figures;
      if (caller.has_times) {
        check(PyTuple_GET_SIZE(value) == 4, "the figures of a caller must be a tuple of 4");
        figures.calls = read_int(PyTuple_GET_ITEM(value, 0));
        figures.primitive_calls = read_int(PyTuple_GET_ITEM(value, 1));
        figures.self_s = read_seconds(PyTuple_GET_ITEM(value, 2));
        figures.total_s = read_seconds(PyTuple_GET_ITEM(value, 3));
      } else {
        figures.calls = figures.primitive_calls = read_int(value);
      }
      callers.push_back(caller);
    }
    return callers;
  }

  CallProfile profile_;
  FlatMap texts_, functions_;  // by address
};

// The dictionary of a profile. Texts and functions are made once.
class DictWriter {
 public:
  explicit DictWriter(const CallProfile& profile) : profile_(profile) {}

  nb::object key(uint32_t number) {
    if (keys_.size() <= number) keys_.resize(profile_.functions().size());
    nb::object& key = keys_[number];
    if (!key.is_valid()) {
      const CallProfile::Function& function = profile_.functions()[number];
      key = nb::make_tuple(text(function.file), function.line, text(function.name));
    }
    return key;
  }

  nb::dict stats() {
    nb::dict stats;
    for (const CallProfile::Entry& entry : profile_.entries()) {
      nb::dict callers;
      for (const CallProfile::Caller& caller : entry.callers) {
        callers[key(caller.function)] = figures(caller);
      }
      stats[key(entry.function)] =
          nb::make_tuple(entry.figures.primitive_calls, entry.figures.calls, entry.figures.self_s,
                         entry.figures.total_s, callers);
    }
    return stats;
  }

  nb::dict callees(const std::vector<std::vector<CallStats::Callee>>& callees) {
    nb::dict all;
    for (uint32_t function = 0; function < callees.size(); ++function) {
      nb::dict of_function;
      for (const CallStats::Callee& callee : callees[function]) {
        of_function[key(callee.function)] = figures(callee.caller);
      }
      all[key(function)] = of_function;
    }
    return all;
  }

 private:
  nb::object text(StringId id) {
    if (texts_.size() <= index(id)) texts_.resize(index(id) + size_t{1});
    nb::object& text = texts_[index(id)];
    if (!text.is_valid()) text = to_text(profile_.string(id));
    return text;
  }
  static nb::object figures(const CallProfile::Caller& caller) {
    const CallFigures& figures = caller.figures;
    if (!caller.has_times) return nb::int_(figures.calls);
    return nb::make_tuple(figures.calls, figures.primitive_calls, figures.self_s, figures.total_s);
  }

  const CallProfile& profile_;
  std::vector<nb::object> keys_;   // by function
  std::vector<nb::object> texts_;  // by StringId
};

std::shared_ptr<CallStats> share(CallProfile profile) {
  return std::make_shared<CallStats>(std::move(profile));
}

std::shared_ptr<CallStats> decode(const nb::bytes& bytes, const std::string& name) {
  const std::string_view view(bytes.c_str(), bytes.size());
  nb::gil_scoped_release release;
  Result<CallProfile> profile = decode_prof(view, name);
  if (!profile) throw TraceFault(profile.status().message());
  return share(*std::move(profile));
}

nb::tuple totals_of(const CallStats& stats) {
  const CallStats::Totals totals = stats.totals();
  DictWriter writer(stats.profile());
  nb::list top_level;
  for (const uint32_t function : totals.top_level) top_level.append(writer.key(function));
  return nb::make_tuple(totals.calls, totals.primitive_calls, totals.self_s, totals.name_width,
                        top_level);
}

Rows sort(const CallStats& stats, const std::vector<std::pair<int, int>>& fields) {
  std::vector<CallStats::SortKey> keys;
  for (const auto& [field, direction] : fields) {
    if (field < 0 || field > static_cast<int>(CallStats::Field::kStandardName)) {
      throw nb::index_error("no such field to sort by");
    }
    keys.push_back({static_cast<CallStats::Field>(field), direction < 0});
  }
  nb::gil_scoped_release release;
  return {stats.sort(keys)};
}

// Rows of functions that Python knows by their keys.
Rows find_rows(const CallStats& stats, const nb::list& keys) {
  DictWriter writer(stats.profile());
  nb::dict row_of;
  const auto entries = stats.profile().entries();
  for (uint32_t row = 0; row < entries.size(); ++row) {
    row_of[writer.key(entries[row].function)] = row;
  }
  Rows found;
  for (const nb::handle key : keys) {
    if (!row_of.contains(key)) {
      PyErr_SetObject(PyExc_KeyError, key.ptr());
      throw nb::python_error();
    }
    found.rows.push_back(nb::cast<uint32_t>(row_of[key]));
  }
  return found;
}

nb::list keys_of(const CallStats& stats, const Rows& rows) {
  DictWriter writer(stats.profile());
  nb::list keys;
  for (const uint32_t row : rows.rows) {
    keys.append(writer.key(stats.profile().entries()[row].function));
  }
  return keys;
}

nb::list names_of(const CallStats& stats, const Rows& rows) {
  nb::list names;
  for (const uint32_t row : rows.rows) {
    names.append(to_text(stats.standard_name(stats.profile().entries()[row].function)));
  }
  return names;
}

// As get_stats_profile() rounds: what is printed, read again.
double rounded(double seconds) {
  std::string text;
  append_seconds(text, seconds);
  return std::strtod(text.c_str(), nullptr);
}

nb::object rounded_per_call(double seconds, int64_t calls) {
  if (calls == 0) return nb::int_(-1);
  return nb::float_(rounded(seconds / static_cast<double>(calls)));
}

// By row: name, calls, self, self per call, total, total per call, file, line.
nb::list profiles_of(const CallStats& stats, const Rows& rows) {
  DictWriter writer(stats.profile());
  nb::list profiles;
  for (const uint32_t row : rows.rows) {
    const CallProfile::Entry& entry = stats.profile().entries()[row];
    const CallFigures& figures = entry.figures;
    std::string calls = std::to_string(figures.calls);
    if (figures.calls != figures.primitive_calls) {
      calls += "/" + std::to_string(figures.primitive_calls);
    }
    const nb::object key = writer.key(entry.function);
    profiles.append(
        nb::make_tuple(key[2], calls, rounded(figures.self_s),
                       rounded_per_call(figures.self_s, figures.calls), rounded(figures.total_s),
                       rounded_per_call(figures.total_s, figures.primitive_calls), key[0], key[1]));
  }
  return profiles;
}

nb::object text_or_throw(const Result<std::string>& text) {
  if (!text) throw nb::key_error(text.status().message().c_str());
  return to_text(*text);
}

void check(const Status& status) {
  if (!status) throw nb::type_error(status.message().c_str());
}

}  // namespace

void bind_call_stats(nb::module_& m) {
  m.def("looks_like_prof", [](const nb::bytes& head) {
    return looks_like_prof({head.c_str(), head.size()});
  });

  nb::class_<Rows>(m, "CallRows")
      .def("__len__", [](const Rows& rows) { return rows.rows.size(); })
      .def("head",
           [](const Rows& rows, size_t count) {
             const size_t taken = std::min(count, rows.rows.size());
             return Rows{{rows.rows.begin(), rows.rows.begin() + static_cast<ptrdiff_t>(taken)}};
           })
      .def("take",
           [](const Rows& rows, const std::vector<size_t>& places) {
             Rows taken;
             for (const size_t place : places) taken.rows.push_back(rows.rows.at(place));
             return taken;
           })
      .def("reverse", [](Rows& rows) { std::reverse(rows.rows.begin(), rows.rows.end()); });

  nb::class_<CallStats>(m, "CallStats")
      .def_static("decode", &decode, nb::arg("data"), nb::arg("name"))
      .def_static("from_dict", [](nb::handle stats) { return share(DictReader().read(stats)); })
      .def_static("from_trace", [](const Trace& trace) { return share(build_call_profile(trace)); })
      .def("encode",
           [](const CallStats& stats) {
             const std::string bytes = encode_prof(stats.profile());
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("to_dict", [](const CallStats& stats) { return DictWriter(stats.profile()).stats(); })
      .def_prop_ro("has_callees", &CallStats::has_callees)
      .def("callees_to_dict",
           [](CallStats& stats) { return DictWriter(stats.profile()).callees(stats.callees()); })
      .def("drop_callees", &CallStats::drop_callees)
      .def("__len__", [](const CallStats& stats) { return stats.profile().entries().size(); })
      .def("totals", &totals_of)
      .def("add", [](CallStats& stats, const CallStats& other) { check(stats.add(other)); })
      .def("without_folders",
           [](const CallStats& stats) {
             Result<CallStats> stripped = stats.without_folders();
             check(stripped.status());
             return std::make_shared<CallStats>(*std::move(stripped));
           })
      .def("rows", [](const CallStats& stats) { return Rows{stats.rows()}; })
      .def("sort", &sort)
      .def("find_rows", &find_rows)
      .def("keys", &keys_of)
      .def("names", &names_of)
      .def("profiles", &profiles_of)
      .def("width",
           [](const CallStats& stats, const Rows& rows) { return stats.standard_width(rows.rows); })
      .def("calc_callees", [](CallStats& stats) { (void)stats.callees(); })
      .def("format_stats", [](const CallStats& stats,
                              const Rows& rows) { return to_text(stats.format_stats(rows.rows)); })
      .def("format_callers",
           [](const CallStats& stats, const Rows& rows, size_t width) {
             return text_or_throw(stats.format_callers(rows.rows, width));
           })
      .def("format_callees", [](CallStats& stats, const Rows& rows, size_t width) {
        return text_or_throw(stats.format_callees(rows.rows, width));
      });
}

}  // namespace stepscope
