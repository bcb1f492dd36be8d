#include "python/tracer_binding.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "collect/python/tracer.h"
#include "collect/recorder/recorder.h"
#include "collect/stepscope/record.h"
#include "python/trace_fault.h"

namespace nb = nanobind;

namespace stepscope {
namespace {

using Patterns = std::vector<std::string>;

void start(bool c_calls, bool from_main, int64_t min_duration_ns, Patterns only, Patterns exclude,
           Patterns library_folders, const std::string& threads, const std::string& own_folder,
           bool marks_only) {
  // The hot path writes into this extension's own recorder.
  if (stepscope_record_table(STEPSCOPE_RECORD_VERSION)->is_recording() != 0 &&
      !Recorder::is_recording()) {
    throw TraceFault(
        "this program brings a recorder of its own (libstepscope_record), which Python calls "
        "cannot "
        "be added to");
  }
  const Status status = start_tracer({
      .c_calls = c_calls,
      .from_main = from_main,
      .min_duration_ns = min_duration_ns,
      .code = {std::move(only), std::move(exclude), std::move(library_folders)},
      .threads = threads,
      .own_folder = own_folder,
      .marks_only = marks_only,
  });
  if (!status) throw TraceFault(status.message());
}

// What went wrong meanwhile; empty: nothing.
std::string stop() { return stop_tracer().message(); }

void mark(nb::object code, CodeMark mark) {
  if (!PyCode_Check(code.ptr())) throw nb::type_error("not a code object");
  const Status status = mark_code(code.ptr(), std::move(mark));
  if (!status) throw TraceFault(status.message());
}

void mark_calls(nb::object code, std::string name, std::string category, bool outermost_only) {
  using Means = CodeMark::Means;
  mark(std::move(code), {.means = outermost_only ? Means::kOutermostLabel : Means::kLabel,
                         .kind = STEPSCOPE_ANNOTATION,
                         .name = std::move(name),
                         .category = std::move(category)});
}

void mark_module_calls(nb::object code) {
  mark(std::move(code), {.means = CodeMark::Means::kModule});
}

void mark_argument(nb::object code, uint16_t argument, std::string name, std::string category) {
  mark(std::move(code), {.means = CodeMark::Means::kArgument,
                         .kind = STEPSCOPE_ANNOTATION,
                         .argument = argument,
                         .name = std::move(name),
                         .category = std::move(category)});
}

}  // namespace

void bind_tracer(nb::module_& m) {
  m.def("start_tracing", &start, nb::arg("c_calls") = false, nb::arg("from_main") = false,
        nb::arg("min_duration_ns") = 0, nb::arg("only") = Patterns(),
        nb::arg("exclude") = Patterns(), nb::arg("library_folders") = Patterns(),
        nb::arg("threads") = "", nb::arg("own_folder") = "", nb::arg("marks_only") = false);
  m.def("stop_tracing", &stop);
  m.def("is_tracing", &is_tracing);
  m.def("other_profilers", &other_profilers);
  m.def("continue_in_child", &continue_tracer_in_child);
  m.def("mark_code", &mark_calls, nb::arg("code"), nb::arg("name"), nb::arg("category"),
        nb::arg("outermost_only") = false);
  m.def("mark_module_calls", &mark_module_calls, nb::arg("code"));
  m.def("mark_argument", &mark_argument, nb::arg("code"), nb::arg("argument"), nb::arg("name"),
        nb::arg("category"));
}

}  // namespace stepscope
