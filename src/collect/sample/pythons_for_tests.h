// The Pythons of this machine that tests may start: python3.X on the path or in a version manager's
// folder, found by running them.
//
//   const std::string python = find_python(11);
//   if (python.empty()) GTEST_SKIP() << "no Python 3.11";
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "collect/sample/program_for_tests.h"

namespace stepscope::sample {

inline bool runs_as(const std::string& path, int minor) {
  if (::access(path.c_str(), X_OK) != 0) return false;
  ProgramForTests program(
      {path, "-c", "import sys, ctypes, asyncio; print(sys.version_info[1], sys.maxsize)"});
  return program.read_line() == std::to_string(minor) + " 9223372036854775807";
}

// Empty where there is none.
inline std::string find_python(int minor) {
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

}  // namespace stepscope::sample
