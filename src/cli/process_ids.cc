#include "cli/process_ids.h"

#include <algorithm>
#include <charconv>

#include "collect/sample/python_process.h"

namespace stepscope::cli {
namespace {

void add_once(std::vector<pid_t>& pids, pid_t pid) {
  if (std::find(pids.begin(), pids.end(), pid) == pids.end()) pids.push_back(pid);
}

}  // namespace

Result<std::vector<pid_t>> parse_process_ids(const std::vector<std::string>& words) {
  std::vector<pid_t> pids;
  for (const std::string& word : words) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), pid);
    if (error != std::errc() || end != word.data() + word.size() || pid <= 0) {
      return Status::error("'" + word + "' is no process id; `pgrep -af python` lists them");
    }
    add_once(pids, pid);
  }
  return pids;
}

std::vector<pid_t> add_descendants(const std::vector<pid_t>& pids) {
  std::vector<pid_t> all;
  for (const pid_t pid : pids) {
    add_once(all, pid);
    for (const pid_t child : sample::find_descendants(pid)) add_once(all, child);
  }
  return all;
}

}  // namespace stepscope::cli
