// What the texts of /proc say, apart from reading them: functions over a file's text, which write
// what they find and say whether it was whole. A text that is cut, empty or not what was expected
// gives false or zeros, never a fault.
//
//   ProcessStat stat;
//   if (parse_process_stat(text, stat)) use(stat.user_ticks);
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace stepscope {

struct CoreTicks {
  uint64_t busy = 0;    // user, nice, system, interrupts
  uint64_t iowait = 0;  // idle while a task of this core waited for a disk; may go backwards
  uint64_t steal = 0;   // wanted, but the hypervisor ran something else
  uint64_t idle = 0;
  uint64_t total() const { return busy + iowait + steal + idle; }
};

// /proc/stat. A core that is offline has no line, and keeps what `cores` held.
struct MachineStat {
  CoreTicks all;
  uint32_t core_lines = 0;
  uint64_t forks = 0;          // processes and threads since boot
  int64_t running_tasks = -1;  // -1: the text does not say
};
bool parse_machine_stat(std::string_view text, MachineStat& stat, std::span<CoreTicks> cores);

// /proc/<pid>/io: what went to and came from storage, of the process and of reaped children.
struct ProcessIo {
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
};
bool parse_process_io(std::string_view text, ProcessIo& io);

// /proc/<pid>/net/dev: the sum over interfaces that lead out of the machine. Loopback, and those
// whose bytes pass another interface of the list too (bridges, VLANs, ends of containers), are not
// in it.
struct NetworkBytes {
  uint64_t received = 0;
  uint64_t sent = 0;
};
bool parse_net_dev(std::string_view text, NetworkBytes& bytes);
bool leads_out_of_machine(std::string_view interface_name);

// /proc/<pid>/schedstat: of a process's first thread.
struct ThreadTimes {
  uint64_t running_ns = 0;
  uint64_t queued_ns = 0;  // it wanted to run, but no core was free
};
bool parse_schedstat(std::string_view text, ThreadTimes& times);

// Appends the numbers of a list like that of /proc/<pid>/task/<tid>/children.
void parse_pids(std::string_view text, std::vector<int32_t>& pids);

}  // namespace stepscope
