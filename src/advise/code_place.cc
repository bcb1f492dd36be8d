#include "advise/code_place.h"

#include <string>

#include "analyze/user_code.h"
#include "trace/function_name.h"
#include "trace/torch_scopes.h"

namespace stepscope {

UserCode::UserCode(const Trace& trace) {
  is_user_.reserve(trace.labels().size());
  for (const Label& label : trace.labels().all()) {
    const bool is_function = label.kind == SliceKind::kPython || label.kind == SliceKind::kCall;
    const FunctionName function =
        is_function ? parse_function_name(trace.string(label.name)) : FunctionName{};
    is_torch_.push_back(function.file.starts_with("torch/") ||
                        function.file.find("-packages/torch/") != function.file.npos);
    is_garbage_collection_.push_back(trace.string(label.category) == "gc");
    is_comprehension_.push_back(is_function && is_comprehension_name(function.name));
    is_user_.push_back(is_function && !is_comprehension_.back() && !function.file.empty() &&
                       !is_library_file(function.file));
  }
}

bool is_phase_mark(const Trace& trace, const Label& label, std::string_view name) {
  return trace.string(label.name) == name && trace.string(label.category) == kPhaseCategory;
}

std::string describe_place(const Trace& trace, LabelId label) {
  const FunctionName function = parse_function_name(trace.string(trace.labels()[label].name));
  if (function.file.empty()) return {};
  std::string_view file = function.file;
  std::string folder(trace.find_metadata("working_directory"));
  if (!folder.empty() && folder.back() != '/') folder += '/';
  if (!folder.empty() && file.starts_with(folder)) file.remove_prefix(folder.size());
  return std::string(file) + ":" + std::to_string(function.line) + " " + std::string(function.name);
}

}  // namespace stepscope
