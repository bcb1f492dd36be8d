#include "export/kineto_ids.h"

#include <map>
#include <string_view>

namespace stepscope {
namespace {

// "nn.Module: head.0 (Linear)", or "nn.Module: Net" of the model itself.
std::string_view class_of_module(std::string_view name) {
  constexpr std::string_view kPrefix = "nn.Module: ";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const size_t begin = name.rfind(" (");
  if (begin == name.npos || !name.ends_with(')')) return name;
  return name.substr(begin + 2, name.size() - begin - 3);
}

}  // namespace

KinetoIds::KinetoIds(const Trace& trace) : trace_(trace) {
  std::map<std::string_view, int64_t> modules_of_class;
  for (const Label& label : trace.labels().all()) {
    const bool is_module =
        label.kind == SliceKind::kPython && trace.string(label.category) == "nn_module";
    const std::string_view name = trace.string(label.name);
    module_id_.push_back(is_module ? modules_of_class[class_of_module(name)]++ : -1);
    has_modules_ |= is_module;
  }
}

std::optional<KinetoIds::PythonIds> KinetoIds::find_python_ids(uint32_t row) {
  if (!is_python(row)) return std::nullopt;
  return PythonIds{row + 1, find_python_above(row), module_id_[index(trace_.slices().label[row])]};
}

bool KinetoIds::is_python(uint32_t row) const {
  return trace_.labels()[trace_.slices().label[row]].kind == SliceKind::kPython;
}

uint32_t KinetoIds::find_python_above(uint32_t row) {
  // A slice comes after the one that holds it.
  while (python_above_.size() <= row) {
    const SliceId parent = trace_.slices().parent[python_above_.size()];
    const bool is_call = parent != kNoSlice && is_python(index(parent));
    python_above_.push_back(parent == kNoSlice ? 0
                            : is_call          ? index(parent) + 1
                                               : python_above_[index(parent)]);
  }
  return python_above_[row];
}

}  // namespace stepscope
