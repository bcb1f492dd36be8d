// OpenMarks: the calls of marked functions (code_mark.h) that are open on the calling thread.
//
// What a call is recorded as may depend on what it is in (the outermost backward(), the model that
// a module belongs to), and its end must be that of its begin. So these calls are kept on a stack.
// Marked functions are few: they may take the longer way.
//
//   OpenMarks::begin<EveryCall>(code, [&](int number) { return find_argument(frame, number); });
//   ...
//   OpenMarks::end<EveryCall>(code);
//
// The mark's slice is around the function's own, so that counts of functions know nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <Python.h>

#include "collect/python/code_labels.h"
#include "collect/python/code_mark.h"

namespace stepscope {

class OpenMarks {
 public:
  // `find_argument(number)` gives a new reference, or null.
  template <typename Calls, typename FindArgument>
  static void begin(const PyCodeObject* code, FindArgument&& find_argument);

  // False: its begin is not known. It is as if what is open within it had ended too. `code` is only
  // compared: it may be dead.
  template <typename Calls>
  static bool end(const PyCodeObject* code);

  // The same, of code that lives. It may have begun before it was marked, and ends so.
  template <typename Calls>
  static void end_live(const PyCodeObject* code);

  // In a forked child, for the calls on its stack, outermost first: begins again what `code`, which
  // is marked, had begun. `place`: 0 at first.
  template <typename Calls>
  static void begin_again(const PyCodeObject* code, size_t& place);

 private:
  struct Open {
    const PyCodeObject* code;
    uint32_t label;           // 0: none
    uint32_t function_label;  // 0: none
    PyObject* module;         // borrowed, for its address; null: the mark is none of a module
  };

  // Of the tracer that runs.
  static std::vector<Open>& of_thread();
  static Open make(const PyCodeObject* code, const CodeMark& mark, PyObject* argument);
  static std::optional<Open> close(const PyCodeObject* code);
};

template <typename Calls, typename FindArgument>
void OpenMarks::begin(const PyCodeObject* code, FindArgument&& find_argument) {
  const CodeMark* mark = CodeLabels::find_mark(code);
  if (mark == nullptr) return;
  PyObject* argument = nullptr;
  if (mark->means == CodeMark::Means::kModule || mark->means == CodeMark::Means::kArgument) {
    argument = find_argument(mark->argument);
  }
  const Open open = make(code, *mark, argument);
  Py_XDECREF(argument);
  of_thread().push_back(open);
  if (open.label != 0) Calls::begin(open.label);
  if (open.function_label != 0) Calls::begin(open.function_label);
}

template <typename Calls>
bool OpenMarks::end(const PyCodeObject* code) {
  const std::optional<Open> open = close(code);
  if (!open) return false;
  if (open->function_label != 0) Calls::end(open->function_label);
  if (open->label != 0) Calls::end(open->label);
  return true;
}

template <typename Calls>
void OpenMarks::end_live(const PyCodeObject* code) {
  if (end<Calls>(code)) return;
  const CodeMark* mark = CodeLabels::find_mark(code);
  if (mark != nullptr && mark->function_label != 0) Calls::end(mark->function_label);
}

template <typename Calls>
void OpenMarks::begin_again(const PyCodeObject* code, size_t& place) {
  const std::vector<Open>& open = of_thread();
  if (place >= open.size() || open[place].code != code) return;
  if (open[place].label != 0) Calls::begin(open[place].label);
  if (open[place].function_label != 0) Calls::begin(open[place].function_label);
  ++place;
}

}  // namespace stepscope
