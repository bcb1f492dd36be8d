#include "python/record_binding.h"

#include <nanobind/stl/string.h>

#include <array>
#include <cstdint>
#include <string>

#include "collect/python/tracer.h"
#include "collect/stepscope/record.h"
#include "python/lock_probe.h"
#include "python/trace_fault.h"

namespace nb = nanobind;

namespace stepscope {
namespace {

// All goes through the table, as it does for those who get it from the capsule: where the program
// around Python links libstepscope_record, that library's recorder is the one of the process.
const StepscopeRecordTable* find_table() {
  const StepscopeRecordTable* table = stepscope_record_table(STEPSCOPE_RECORD_VERSION);
  if (table == nullptr) throw nb::import_error("libstepscope_record of another version is loaded");
  return table;
}

using Message = std::array<char, 1024>;

void start_recording(const std::string& folder, uint64_t max_pool_bytes, uint64_t max_file_bytes,
                     uint64_t rotate_bytes, bool counters, const std::string& metadata) {
  watch_global_lock();
  nb::gil_scoped_release release;
  StepscopeRecordOptions options{};
  options.bytes = sizeof(options);
  options.no_counters = counters ? 0 : 1;
  options.max_pool_bytes = max_pool_bytes;
  options.max_file_bytes = max_file_bytes;
  options.rotate_bytes = rotate_bytes;
  options.metadata = metadata.c_str();
  Message message{};
  if (find_table()->start(folder.c_str(), &options, message.data(), message.size()) != 0) {
    throw TraceFault(message.data());
  }
}

void stop_recording() {
  nb::gil_scoped_release release;
  Message message{};
  if (find_table()->stop(message.data(), message.size()) != 0) throw TraceFault(message.data());
}

}  // namespace

void bind_recorder(nb::module_& m) {
  m.attr("record_table") = nb::capsule(find_table(), "stepscope._core.record_table");
  m.def("start_recording", &start_recording, nb::arg("folder"), nb::arg("max_pool_bytes") = 0,
        nb::arg("max_file_bytes") = 0, nb::arg("rotate_bytes") = 0, nb::arg("counters") = true,
        nb::arg("metadata") = "");
  m.def("stop_recording", &stop_recording);
  // What threads and contexts are in; the calls around it are written first.
  m.def(
      "intern",
      [](const std::string& name, const std::string& category) {
        return find_table()->intern(name.data(), name.size(), category.data(), category.size(),
                                    STEPSCOPE_ANNOTATION);
      },
      nb::arg("name"), nb::arg("category") = "user_annotation");
  m.def("begin", [](uint32_t label) {
    write_open_calls();
    find_table()->begin(label);
  });
  m.def("end", [](uint32_t label) { find_table()->end(label); });
  m.def("mark_step", [](uint32_t number) {
    write_open_calls();
    find_table()->step(number);
  });
  m.def("set_thread_name",
        [](const std::string& name) { find_table()->set_thread_name(name.data(), name.size()); });
  m.def("is_recording", [] { return find_table()->is_recording() != 0; });
}

}  // namespace stepscope
