// The Pythons of this machine that tests may start: python3.X on the path or in a version manager's
// folder, found by running them.
//
//   const std::string python = find_python(11);
//   if (python.empty()) GTEST_SKIP() << "no Python 3.11";
#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "collect/sample/program_for_tests.h"

namespace stepscope::sample {

inline bool runs_as(const std::string& path, int minor) {
  if (::access(path.c_str(), X_OK) != 0) return false;
  ProgramForTests program(
      {path, "-c",
       "import sys, _ctypes, importlib.util as u; "
       "print(sys.version_info[1], sys.maxsize, bool(u.find_spec('_asyncio')))"});
  return program.read_line() == std::to_string(minor) + " 9223372036854775807 True";
}

inline std::string search_python(int minor) {
  const std::string name = "python3." + std::to_string(minor);
  std::vector<std::string> folders;
  std::error_code error;
  if (const char* home = std::getenv("HOME")) {
    const std::string versions = std::string(home) + "/.pyenv/versions";
    for (const auto& entry : std::filesystem::directory_iterator(versions, error)) {
      folders.push_back(entry.path().string() + "/bin");
    }
  }
  std::string path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find(':', at), path.size());
    folders.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  for (const std::string& folder : folders) {
    if (runs_as(folder + "/" + name, minor)) return folder + "/" + name;
  }
  return {};
}

// Empty where there is none.
inline const std::string& find_python(int minor) {
  static std::map<int, std::string> found;
  const auto [known, is_new] = found.try_emplace(minor);
  if (is_new) known->second = search_python(minor);
  return known->second;
}

}  // namespace stepscope::sample
