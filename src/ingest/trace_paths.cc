#include "ingest/trace_paths.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "ingest/profile_folder.h"
#include "trace/recording.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kSuffixes = {".sscope",   ".json",      ".json.gz",
                                                       ".json.zst", ".sscope.gz", ".sscope.zst"};
constexpr size_t kMaxNamed = 5;

// The folder's own files whose names are those of traces, in order.
Result<std::vector<std::string>> list_traces(const std::string& path) {
  std::error_code error;
  std::vector<std::string> files;
  fs::directory_iterator at(path, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (!at->is_directory(ignored) && has_trace_name(at->path().filename().string())) {
      files.push_back(at->path().string());
    }
  }
  if (error) return Status::error(path + ": " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

bool has_trace_name(std::string_view name) {
  if (name.starts_with('.')) return false;
  return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return path != "-" && fs::is_directory(path, error);
}

Result<std::vector<std::string>> find_trace_files(const std::string& path) {
  if (path.empty()) return Status::error("'': an empty name is no file");
  if (!is_folder(path) || is_run_folder(path) || find_profile(path)) {
    return std::vector<std::string>{path};
  }
  Result<std::vector<std::string>> found = list_traces(path);
  if (!found) return found.status();
  std::vector<std::string>& files = *found;
  if (files.empty()) {
    if (find_newest_profile(path)) return std::vector<std::string>{path};
    for (const std::string& run : find_log_runs(path)) {  // older ones have a trace.json.gz alone
      if (auto of_run = list_traces(run); of_run && !of_run->empty()) return of_run;
    }
    return Status::error(path + ": no trace files in this folder (.sscope, .xplane.pb, .json, " +
                         ".json.gz, .json.zst)");
  }
  return files;
}

Result<std::vector<std::string>> find_rank_files(const std::string& path) {
  if (path.empty()) return Status::error("'': an empty name is no file");
  if (!is_folder(path)) return std::vector<std::string>{path};
  Result<std::vector<std::string>> files = list_traces(path);
  if (!files) return files.status();
  // The list of a run's files (python/stepscope/_index.py), and the looks at its lines.
  std::erase_if(*files, [](const std::string& file) {
    return file.ends_with("/index.json") || is_beside_calls(file);
  });
  if (!files->empty()) return files;
  if (const auto profile = find_profile(path)) return profile->files;
  std::error_code error;
  std::vector<std::string> folders;
  for (fs::directory_iterator at(path, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored)) folders.push_back(at->path().string());
  }
  std::sort(folders.begin(), folders.end());
  for (const std::string& folder : folders) {
    const auto of_folder = list_traces(folder);
    if (of_folder) files->insert(files->end(), of_folder->begin(), of_folder->end());
  }
  if (!files->empty()) return files;
  return find_trace_files(path);
}

Result<std::string> find_trace_file(const std::string& path) {
  auto files = find_trace_files(path);
  if (!files) return files.status();
  if (files->size() == 1) return files->front();
  std::string message =
      path + ": " + std::to_string(files->size()) + " traces in this folder, name one: ";
  for (size_t i = 0; i < std::min(files->size(), kMaxNamed); ++i) {
    message += (i == 0 ? "" : ", ") + fs::path((*files)[i]).filename().string();
  }
  if (files->size() > kMaxNamed) message += ", …";
  return Status::error(message);
}

}  // namespace stepscope
