#include "cli/remote_path.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "cli/commands.h"
#include "cli/find_python.h"
#include "cli/shell_quote.h"
#include "cli/terminal.h"

namespace stepscope::cli {
namespace {

namespace fs = std::filesystem;

bool is_remote(std::string_view path) {
  const size_t end = path.find("://");
  if (end == path.npos || end == 0) return false;
  for (const char c : path.substr(0, end)) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '+' && c != '-' && c != '.') {
      return false;
    }
  }
  return true;
}

// Without what may be secret: a password, a token in the query.
std::string without_secrets(std::string url) {
  url.resize(std::min(url.find('?'), url.size()));
  const size_t host = url.find("://") + 3;
  const size_t at = url.find('@', host);
  const size_t colon = url.find(':', host);
  if (at < url.find('/', host) && colon < at) url.erase(colon, at - colon);
  return url;
}

// By a process that is nobody's child and outlives this one by a moment, so that nothing is left
// behind by a signal either, such as that of `stepscope report … | head`.
void remove_when_this_ends(const std::string& folder) {
  int life[2];
  if (::pipe2(life, O_CLOEXEC) != 0) return;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::fork() != 0) ::_exit(0);
    ::setsid();
    (void)!::chdir("/");
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, stream);
    ::close(life[1]);
    char byte = 0;
    while (::read(life[0], &byte, 1) > 0 || errno == EINTR) errno = 0;
    std::error_code error;
    fs::remove_all(folder, error);
    ::_exit(0);
  }
  ::close(life[0]);  // the other end is held as long as this process is there
  if (child > 0) ::waitpid(child, nullptr, 0);
}

Result<std::string> make_temporary_folder() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string name = (error ? fs::path("/tmp") : parent) / "stepscope-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return Status::error(name + ": " + std::strerror(errno));
  remove_when_this_ends(name);
  return name;
}

// What _transfer.py said.
struct Answer {
  std::vector<std::string> paths;
  uint64_t files = 0, bytes = 0;
  std::string why;
  std::string fault;
  bool is_done = false;
};

void take_line(std::string_view line, Answer& answer, ProgressBar& bar) {
  const size_t space = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, space);
  const std::string text(line.substr(std::min(space + 1, line.size())));
  unsigned long long count = 0;
  unsigned long long of = 0;
  const bool has_numbers = std::sscanf(text.c_str(), "%llu %llu", &count, &of) == 2;
  if (word == "path") {
    answer.paths.push_back(text);
    answer.is_done = true;
  } else if (word == "why") {
    answer.why = text;
  } else if (word == "fault") {
    answer.fault = text;
  } else if (word == "done" && has_numbers) {
    answer.files = count;
    answer.bytes = of;
    answer.is_done = true;
  } else if (word == "file" && has_numbers && of > 0) {
    bar.show(static_cast<double>(count) / static_cast<double>(of));
  }
}

// Runs it to its end. Errors are for the user, without the URL.
Result<Answer> transfer(const std::string& python, const char* action, const std::string& url,
                        const std::string& folder) {
  const auto start_folder = find_start_folder();
  if (!start_folder) return start_folder.status();
  const fs::path script = fs::path(*start_folder).parent_path() / "_transfer.py";
  // A program that is being recorded may have called this command: that is no part of it. Python's
  // own complaints, and the chatter of the stores' libraries, are not for the user.
  const std::string command = "exec env -u STEPSCOPE -u STEPSCOPE_RUN " + shell_quote(python) +
                              " -P " + shell_quote(script.string()) + " " + action + " --url " +
                              shell_quote(url) + " --folder " + shell_quote(folder) +
                              " 2>/dev/null";
  std::FILE* pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) return Status::error(std::strerror(errno));
  Answer answer;
  ProgressBar bar(without_secrets(url));
  char* line = nullptr;
  size_t capacity = 0;
  for (ssize_t size = 0; (size = ::getline(&line, &capacity, pipe)) > 0;) {
    std::string_view text(line, static_cast<size_t>(size));
    if (text.ends_with('\n')) text.remove_suffix(1);
    take_line(text, answer, bar);
  }
  std::free(line);
  ::pclose(pipe);
  bar.clear();
  if (!answer.fault.empty()) return Status::error(answer.fault);
  if (answer.is_done) return answer;
  if (!answer.why.empty()) return Status::error(answer.why);
  return Status::error(std::string(action) +
                       " failed; it takes Python 3.11 or newer, and this is " + python);
}

}  // namespace

Result<std::vector<std::string>> bring_here(const std::string& path) {
  if (!is_remote(path)) return std::vector<std::string>{path};
  const std::string shown = without_secrets(path);
  const auto python = find_python("", ::program_invocation_name);
  if (!python) {
    return Status::error(shown + ": no Python found, which reading from there takes");
  }
  const auto folder = make_temporary_folder();
  if (!folder) return folder.status();
  auto answer = transfer(*python, "download", path, *folder);
  if (!answer) return Status::error(shown + ": " + answer.status().message());
  for (const std::string& found : answer->paths) {
    if (!found.starts_with(*folder + "/")) return Status::error(shown + ": not downloaded");
  }
  return std::move(answer->paths);
}

Result<std::string> bring_one_here(const std::string& path) {
  const auto paths = bring_here(path);
  if (!paths) return paths.status();
  if (paths->size() == 1) return paths->front();
  std::string message =
      without_secrets(path) + ": " + std::to_string(paths->size()) + " runs, name one:";
  for (const std::string& found : *paths) message += " " + fs::path(found).filename().string();
  return Status::error(message);
}

void upload_run(const std::string& folder, const std::string& url, const std::string& python) {
  const auto answer = transfer(python, "upload", url, folder);
  const std::string shown = without_secrets(url);
  if (!answer) {
    print_remark(shown + ": not uploaded: " + answer.status().message() + "; the run is in " +
                 folder);
    return;
  }
  print_remark(fmt::format("{}: {} of the run uploaded, {:.1f} MB", shown,
                           answer->files == 1 ? "1 file" : fmt::format("{} files", answer->files),
                           static_cast<double>(answer->bytes) / 1e6));
}

}  // namespace stepscope::cli
