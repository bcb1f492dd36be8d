#include "cli/find_python.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

bool is_program(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::string find_on_path(const std::string& name) {
  const char* variable = std::getenv("PATH");
  std::string_view folders = variable == nullptr ? "" : variable;
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
    const std::string path = std::string(folder.empty() ? "." : folder) + "/" + name;
    if (is_program(path)) return path;
  }
  return "";
}

std::string in_environment(const char* variable) {
  const char* folder = std::getenv(variable);
  if (folder == nullptr || *folder == '\0') return "";
  const std::string path = std::string(folder) + "/bin/python";
  return is_program(path) ? path : "";
}

// As it was called, not where links lead: the command of a virtual environment may be a link.
std::string beside(const std::string& command) {
  const std::string called = command.find('/') != command.npos ? command : find_on_path(command);
  if (called.empty()) return "";
  const std::string folder = fs::path(called).parent_path().string();
  for (const char* name : {"/python", "/python3"}) {
    if (is_program(folder + name)) return folder + name;
  }
  return "";
}

}  // namespace

Result<std::string> find_python(const std::string& wanted, const std::string& command) {
  if (!wanted.empty()) {
    const std::string path = wanted.find('/') != wanted.npos ? wanted : find_on_path(wanted);
    if (!path.empty() && is_program(path)) return path;
    return Status::error("--python " + wanted + ": no such program");
  }
  // The wheel's launcher knows its environment.
  if (const char* python = std::getenv("STEPSCOPE_PYTHON");
      python != nullptr && is_program(python)) {
    return std::string(python);
  }
  for (std::string path :
       {beside(command), in_environment("VIRTUAL_ENV"), in_environment("CONDA_PREFIX"),
        find_on_path("python3"), find_on_path("python")}) {
    if (!path.empty()) return path;
  }
  return Status::error("no Python found; name one with --python");
}

Result<std::string> find_start_folder() {
  std::error_code error;
  const fs::path command = fs::canonical("/proc/self/exe", error);
  // In a wheel the command lies in the package; in a checkout, in a build folder beside it.
  for (const char* way : {"../_site", "../../../python/stepscope/_site"}) {
    const fs::path folder = fs::weakly_canonical(command.parent_path() / way, error);
    if (fs::exists(folder / "sitecustomize.py", error)) return folder.string();
  }
  return Status::error("the Python package is not beside this command: " + command.string());
}

}  // namespace stepscope::cli
