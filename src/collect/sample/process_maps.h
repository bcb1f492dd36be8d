// What a process has mapped: /proc/PID/maps.
//
//   for (const Mapping& mapping : read_process_maps(pid)) ...
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::sample {

struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  bool is_executable = false;
  bool is_writable = false;
  std::string path;  // as the process sees it; empty, or "[stack]", where it is no file

  bool is_file() const { return !path.empty() && path.front() == '/'; }
};

// By address. Empty where the process is gone or may not be looked at.
std::vector<Mapping> read_process_maps(pid_t pid);
std::vector<Mapping> parse_process_maps(std::string_view text);

// The mapping that holds the address, or null.
const Mapping* find_mapping(const std::vector<Mapping>& mappings, uint64_t address);

// Where this process finds a file that the other one calls `path`: in a container its root is
// another.
std::string path_from_outside(pid_t pid, const std::string& path);

}  // namespace stepscope::sample
