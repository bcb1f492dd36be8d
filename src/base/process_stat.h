// ProcessStat: what the kernel says of a process in /proc/<pid>/stat.
//
//   ProcessStat stat;
//   if (parse_process_stat(text, stat)) ...
//   uint64_t started = read_process_stat("self").start_ticks;   // 0s where there is none
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope {

// Ticks are of sysconf(_SC_CLK_TCK).
struct ProcessStat {
  char state = 0;  // 'R', 'S', 'Z', ...: of its first thread
  int32_t parent = 0;
  uint64_t minor_faults = 0, reaped_minor_faults = 0;  // reaped: of children that were waited for,
  uint64_t major_faults = 0, reaped_major_faults = 0;  // and of those that they had waited for
  uint64_t user_ticks = 0, reaped_user_ticks = 0;
  uint64_t system_ticks = 0, reaped_system_ticks = 0;
  uint64_t threads = 0;
  uint64_t start_ticks = 0;  // since boot
  uint64_t resident_pages = 0;
  uint64_t block_io_ticks = 0;  // of the first thread alone; 0 without delay accounting
};

// False where the text ends before its last needed field, the 24th.
bool parse_process_stat(std::string_view text, ProcessStat& stat);

// Of a pid, or "self". All zero where there is no such process.
ProcessStat read_process_stat(const std::string& pid);

}  // namespace stepscope
