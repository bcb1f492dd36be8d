// `stepscope record PID...`: samples Python programs that run already, from outside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepscope::cli {

struct RecordProcessesOptions {
  std::vector<std::string> pids;
  int64_t hz = 100;
  std::string duration;  // "": until it is ended, or the programs do
  std::string output;
  bool overwrite = false;
  bool with_children = false;
  bool native = false;
  bool pause = false;
  bool only_with_gil = false;
  bool with_idle = false;  // what is told at the end is wall time
  bool quiet = false;
};

// Gives the exit code.
int record_processes(const RecordProcessesOptions& options);

}  // namespace stepscope::cli
