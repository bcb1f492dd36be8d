// SystemReader: the values of the system counters, at one moment after another.
//
//   SystemReader reader;
//   reader.read();                                     // the first time there are no rates yet
//   const SystemValues& values = reader.read();        // since the time before
//   if (!std::isnan(values.user_cores)) ...
//
// It keeps to a budget of CPU time, below 0.1 % of a core: a part that costs more than its share,
// as with hundreds of children or network interfaces, is read less often.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "collect/system/process_tree.h"

namespace stepscope {

// What is not known, or not this time, is NaN.
struct SystemValues {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  // Of the process tree. CPU times per time: 1.0 is one core all the time.
  double user_cores = kUnknown, system_cores = kUnknown, iowait_cores = kUnknown;
  double own_resident_bytes = kUnknown, resident_bytes = kUnknown;
  double minor_faults_per_s = kUnknown, major_faults_per_s = kUnknown;
  double read_bytes_per_s = kUnknown, written_bytes_per_s = kUnknown;
  // Of the process's first thread, per time. What is in neither of them, it waited for a disk, a
  // network, a lock or a clock.
  double running = kUnknown, queued = kUnknown;
  // Of the machine.
  double busy_cores = kUnknown, machine_iowait_cores = kUnknown, stolen_cores = kUnknown;
  double run_queue = kUnknown;
  double received_bytes_per_s = kUnknown, sent_bytes_per_s = kUnknown;
  std::vector<double> core_fractions;  // by number of the core
};

// CPU time that a part may use: a balance that grows with time and that each use lowers.
class CpuBudget {
 public:
  CpuBudget(double share, int64_t max_pause_ns) : share_(share), max_pause_ns_(max_pause_ns) {}
  void pass(int64_t elapsed_ns);
  bool is_left() const { return balance_ns_ >= 0; }
  void spend(int64_t cpu_ns);

 private:
  double share_;
  int64_t max_pause_ns_;  // even where it would take longer to make up for one use
  double balance_ns_ = 0;
};

class SystemReader {
 public:
  static constexpr size_t kMaxCores = 64;  // that are shown one by one

  explicit SystemReader(bool keeps_budget = true);
  const SystemValues& read();
  // Numbers of the cores that are shown: all, or those that this process may use.
  const std::vector<uint32_t>& shown_cores() const { return shown_cores_; }

 private:
  void read_tree(int64_t now_ns);
  void read_first_thread(int64_t now_ns);
  void read_machine();
  void read_network(int64_t now_ns);
  void discover(int64_t now_ns);
  template <typename Part>
  void run(CpuBudget& budget, Part part);

  bool keeps_budget_;
  std::unique_ptr<char[]> buffer_;
  ProcFolder proc_;
  ProcessTree tree_;
  ProcFile first_thread_file_;
  ProcFile machine_file_;
  ProcFile network_file_;
  SystemValues values_;
  std::vector<uint32_t> shown_cores_;

  CpuBudget tree_budget_, machine_budget_, network_budget_, discovery_budget_;
  int64_t last_read_ns_ = 0, tree_ns_ = 0, first_thread_ns_ = 0, network_ns_ = 0, discovery_ns_ = 0;
  double user_backlog_ns_ = 0, system_backlog_ns_ = 0;
  bool has_machine_ = false;
  double core_count_ = 1;
  uint64_t forks_ = 0, forks_at_discovery_ = 0;
  ThreadTimes first_thread_before_;
  CoreTicks all_before_;
  std::vector<CoreTicks> cores_, cores_before_;
  NetworkBytes network_before_;
};

}  // namespace stepscope
