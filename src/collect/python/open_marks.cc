#include "collect/python/open_marks.h"

#include <algorithm>

#include "collect/python/callable_mark.h"
#include "collect/python/module_labels.h"
#include "collect/python/traced_thread.h"

namespace stepscope {

std::vector<OpenMarks::Open>& OpenMarks::of_thread() {
  struct OfThread {
    uint32_t generation = 0;
    std::vector<Open> open;
  };
  thread_local OfThread of_thread;
  if (of_thread.generation != g_tracer_generation) {
    of_thread.generation = g_tracer_generation;
    of_thread.open.clear();
  }
  return of_thread.open;
}

OpenMarks::Open OpenMarks::make(const PyCodeObject* code, const CodeMark& mark,
                                PyObject* argument) {
  using Means = CodeMark::Means;
  const std::vector<Open>& around = of_thread();
  Open open{code, mark.label, mark.function_label, nullptr};
  switch (mark.means) {
    case Means::kLabel:
      break;
    case Means::kOutermostLabel:
      if (std::ranges::find(around, mark.label, &Open::label) != around.end()) open.label = 0;
      break;
    case Means::kModule: {
      const auto is_module = [](const Open& other) { return other.module != nullptr; };
      const auto outermost = std::ranges::find_if(around, is_module);
      PyObject* model = outermost == around.end() ? nullptr : outermost->module;
      open.module = argument;
      open.label = argument == nullptr ? 0 : ModuleLabels::find(argument, model);
      break;
    }
    case Means::kArgument:
      open.label = 0;
      if (argument != nullptr)
        mark_callable(argument, {.kind = mark.kind, .name = mark.name, .category = mark.category});
      break;
  }
  return open;
}

std::optional<OpenMarks::Open> OpenMarks::close(const PyCodeObject* code) {
  std::vector<Open>& open = of_thread();
  const auto it = std::find_if(open.rbegin(), open.rend(),
                               [code](const Open& other) { return other.code == code; });
  if (it == open.rend()) return std::nullopt;
  const Open closed = *it;
  open.erase(it.base() - 1, open.end());
  return closed;
}

}  // namespace stepscope
