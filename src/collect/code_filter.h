// CodeFilter: which functions a collector of calls records ("my code only"). A function that is
// left out is as if it were part of its caller: the tree above and below it stays whole.
//
//   CodeFilter filter({.only = {"mine"}, .exclude = {"*/generated/*", "Config.__getattr__"}});
//   if (filter.takes("/home/me/train.py", "Trainer.step")) ...
//
// A pattern is the word `mine` (code that is neither the interpreter's nor an installed package),
// or a glob (* ? [..]) that fits the file's path, the end of it after a slash, a folder of it, or
// the function's qualified name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

struct CodePatterns {
  std::vector<std::string> only;     // empty: all
  std::vector<std::string> exclude;  // wins over `only`
  // Where code lies that is not `mine`: the interpreter's library, installed packages. Also names
  // that are no paths, such as <string> where libraries make code.
  std::vector<std::string> library_folders;
};

class CodeFilter {
 public:
  CodeFilter() = default;
  explicit CodeFilter(CodePatterns patterns) : patterns_(std::move(patterns)) {}

  bool takes_all() const { return patterns_.only.empty() && patterns_.exclude.empty(); }
  bool takes(std::string_view file, std::string_view function) const;

 private:
  bool matches(const std::string& pattern, const std::string& file,
               const std::string& function) const;
  bool is_mine(std::string_view file) const;

  CodePatterns patterns_;
};

}  // namespace stepscope
