#include "cli/record_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/run_folder.h"
#include "collect/sample/python_process.h"
#include "export/output_file.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

// "train-4321" of "python -u train.py": a script's or module's name, else the program's.
std::string name_of(pid_t pid) {
  std::istringstream words(sample::read_command_line(pid));
  std::string program, word;
  words >> program;
  std::string name = fs::path(program).filename().string();
  bool is_module = false;
  while (words >> word) {
    if (word == "-c") break;
    if (std::exchange(is_module, word == "-m") || !word.starts_with('-')) {
      name = fs::path(word).stem().string();
      break;
    }
  }
  std::erase_if(name, [](unsigned char c) {
    return std::isalnum(c) == 0 && c != '_' && c != '-' && c != '.';
  });
  return (name.empty() ? "process" : name) + "-" + std::to_string(pid);
}

std::string recording_name(const RecordedProcesses& processes) {
  const bool is_one = processes.pids.size() == 1 && !processes.with_children;
  return (is_one ? std::to_string(processes.pids.front()) + "." : "") + "samples.sscope";
}

// A file of a kind that we do not write is no folder's name; "v1.2" is one.
bool is_file_name(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  return extension.size() > 1 && std::all_of(extension.begin() + 1, extension.end(),
                                             [](unsigned char c) { return std::isalpha(c); });
}

std::string format_suffixes() {
  std::string text;
  for (const ExportFormat& format : export_formats()) {
    if (!text.empty()) text += ", ";
    text += format.suffix.substr(0, format.suffix.find(' '));
  }
  return text;
}

// Not emptied: an earlier recording stays until there is a new one.
Status check_writable(const std::string& path) {
  if (fs::is_directory(path)) return Status::error(path + ": is a directory");
  const bool exists = fs::exists(path);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file < 0) return Status::error(path + ": " + std::generic_category().message(errno));
  ::close(file);
  if (!exists) ::unlink(path.c_str());
  return {};
}

}  // namespace

Result<RecordOutput> RecordOutput::plan(const std::string& path, const RecordedProcesses& processes,
                                        bool overwrite) {
  RecordOutput output;
  output.overwrite_ = overwrite;
  output.path_ = path.empty() ? make_run_folder_name(name_of(processes.pids.front())) : path;
  const ExportFormat* format = path.empty() ? nullptr : find_export_format_of_path(path);
  std::error_code error;
  output.is_folder_ =
      path.empty() || path.ends_with('/') || fs::is_directory(path, error) || format == nullptr;
  if (!output.is_folder_) {
    const bool is_recording = format == find_export_format("sscope");
    output.format_ = is_recording ? nullptr : format;
    output.recording_path_ =
        is_recording ? path : path + "." + std::to_string(::getpid()) + ".sscope";
    return output;
  }
  const bool is_named_as_folder = path.empty() || path.ends_with('/') || fs::is_directory(path);
  if (!is_named_as_folder && is_file_name(path)) {
    return Status::error("-o '" + path + "' names no format; there are " + format_suffixes() +
                         "; for a folder write " + path + "/");
  }
  output.recording_path_ = (fs::path(output.path_) / recording_name(processes)).string();
  return output;
}

Status RecordOutput::prepare() {
  if (is_folder_) {
    std::error_code error;
    is_new_folder_ = !fs::exists(path_, error);
    return prepare_run_folder(path_, overwrite_);
  }
  if (format_ != nullptr) {
    const auto file = OutputFile::create(path_);  // gone again by itself
    if (!file) return file.status();
  }
  return check_writable(recording_path_);
}

Result<std::vector<std::string>> RecordOutput::write(const Trace& trace,
                                                     const ExportOptions& options) {
  if (format_ == nullptr) return std::vector<std::string>();
  auto left_out = format_->write(trace, path_, options);
  std::error_code ignored;
  if (left_out) fs::remove(recording_path_, ignored);
  return left_out;
}

void RecordOutput::discard() {
  std::error_code ignored;
  fs::remove(recording_path_, ignored);
  if (is_new_folder_) fs::remove(path_, ignored);  // only where nothing is in it
}

}  // namespace stepscope::cli
