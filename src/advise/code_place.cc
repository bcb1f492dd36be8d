#include "advise/code_place.h"

#include <algorithm>
#include <array>
#include <string>

#include "trace/function_name.h"
#include "trace/torch_scopes.h"

namespace stepscope {

bool is_library_file(std::string_view file) {
  if (file.empty() || file.front() == '<' || file == kBuiltInFile) return true;
  // The last one: of this package, wherever it lies. Samples see it at work.
  constexpr std::array<std::string_view, 5> kPlaces = {
      "site-packages/", "dist-packages/", "/lib/python3", "/lib64/python3", "/stepscope/_"};
  for (const std::string_view part : kPlaces) {
    if (file.find(part) != file.npos) return true;
  }
  // As Kineto writes them: relative to where packages lie.
  return file.starts_with("torch/");
}

namespace {

bool is_comprehension_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"<listcomp>", "<genexpr>", "<dictcomp>",
                                                      "<setcomp>"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view known) { return name.ends_with(known); });
}

}  // namespace

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
