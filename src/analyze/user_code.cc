#include "analyze/user_code.h"

#include <algorithm>
#include <array>

#include "trace/function_name.h"

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

bool is_comprehension_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"<listcomp>", "<genexpr>", "<dictcomp>",
                                                      "<setcomp>"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view known) { return name.ends_with(known); });
}

}  // namespace stepscope
