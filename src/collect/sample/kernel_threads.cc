#include "collect/sample/kernel_threads.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace stepscope::sample {
namespace {

constexpr std::string_view kName = "Name:\t", kNumbers = "NSpid:\t";

int32_t parse_number(std::string_view text) {
  int32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// False where the thread is over.
bool read_status(const std::filesystem::path& path, KernelThread& thread) {
  std::ifstream file(path / "status");
  thread.own_tid = thread.tid;
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with(kName)) thread.name = line.substr(kName.size());
    if (line.starts_with(kNumbers)) {
      // From the outermost container to the innermost: "NSpid:	4711	12".
      thread.own_tid = parse_number(std::string_view(line).substr(line.rfind('\t') + 1));
      return true;
    }
  }
  return !thread.name.empty();
}

}  // namespace

std::vector<KernelThread> read_kernel_threads(pid_t pid) {
  std::vector<KernelThread> threads;
  std::error_code error;
  std::filesystem::directory_iterator tasks("/proc/" + std::to_string(pid) + "/task", error);
  if (error) return threads;
  for (auto task = begin(tasks); task != end(tasks); task.increment(error)) {
    if (error) break;
    KernelThread thread{.tid = parse_number(task->path().filename().string())};
    if (thread.tid > 0 && read_status(task->path(), thread)) threads.push_back(std::move(thread));
  }
  std::sort(threads.begin(), threads.end(),
            [](const KernelThread& a, const KernelThread& b) { return a.tid < b.tid; });
  return threads;
}

}  // namespace stepscope::sample
