#include "cli/run_folder.h"

#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "outputs/profiler_results";

// What TensorFlow's and JAX's profilers wrote for a run, and nothing else that may lie there.
bool is_profile(const fs::directory_entry& entry) {
  std::error_code error;
  const std::string name = entry.path().filename().string();
  return (name.starts_with("tensorflow-") || name.starts_with("jax-")) &&
         fs::is_directory(entry.path() / "plugins" / "profile", error);
}

std::vector<fs::path> find_run(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".sscope" || extension == ".pool" || is_profile(entry)) {
      found.push_back(entry.path());
    }
  }
  return found;
}

}  // namespace

std::string make_run_folder_name(const std::string& recorded) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof(text), "-%Y%m%d-%H%M%S", &local);
  const std::string first = std::string(kFolder) + "/" + recorded + text;
  std::string folder = first;
  for (int i = 2; fs::exists(folder); ++i) folder = first + "-" + std::to_string(i);
  return folder;
}

Status prepare_run_folder(const std::string& folder, bool overwrite) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Status::error(folder + ": " + error.message());
  if (::access(folder.c_str(), W_OK) != 0) return Status::error(folder + ": cannot be written");
  const std::vector<fs::path> earlier = find_run(folder);
  if (earlier.empty()) return {};
  if (!overwrite) {
    return Status::error(folder + ": holds a run already; name another folder, or say --overwrite");
  }
  for (const fs::path& path : earlier) fs::remove_all(path, error);
  return {};
}

}  // namespace stepscope::cli
