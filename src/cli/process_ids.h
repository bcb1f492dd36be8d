// The processes that a command is to look into, as a user names them.
//
//   Result<std::vector<pid_t>> pids = parse_process_ids({"1234", "1240"});
//   for (pid_t pid : add_descendants(*pids)) ...
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace stepscope::cli {

// Each once, in their order. A message begins with the word that is none.
Result<std::vector<pid_t>> parse_process_ids(const std::vector<std::string>& words);

// Each with its children, and theirs, right after it.
std::vector<pid_t> add_descendants(const std::vector<pid_t>& pids);

}  // namespace stepscope::cli
