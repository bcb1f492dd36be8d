// ProcessTree: this process and its descendants, and what they used since the last reading.
//
//   ProcessTree tree(proc, buffer);
//   tree.discover();                     // about once a second: who belongs to it
//   ProcessTree::Reading now;
//   if (tree.read(now)) use(now.used[kUserNs], now.resident_bytes);
//
// At most kMaxProcesses are followed; what others used counts when they have ended.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collect/system/proc_file.h"
#include "collect/system/proc_text.h"
#include "collect/system/usage_account.h"

namespace stepscope {

class ProcessTree {
 public:
  static constexpr size_t kMaxProcesses = 256;  // two descriptors each; programs may open 1024

  struct Reading {
    Amounts used{};  // by all, since the last reading; a CPU time may be a little below 0
    uint64_t own_resident_bytes = 0;
    uint64_t resident_bytes = 0;  // of all; a page that several share counts for each
    bool has_disk = false;
    bool has_block_io = false;
  };

  // `buffer` is for the texts, and must outlive the tree, as `proc` must.
  ProcessTree(ProcFolder& proc, std::span<char> buffer);

  void discover();
  // Whether one is gone since the last discover(): its children have another parent now.
  bool has_lost_some() const { return has_lost_some_; }
  // False where not even this process could be read.
  bool read(Reading& reading);
  size_t size() const { return processes_.size(); }

 private:
  struct Process {
    int32_t pid;
    int32_t parent;
    ProcFile stat_file;
    ProcFile io_file;
    uint64_t start_ticks = 0;
    UsageAccount account;
    Usage usage;
    uint64_t resident_pages = 0;
    bool is_new_born = false;
    bool is_gone = false;
    bool has_disk = false;
  };
  struct Found {
    int32_t pid;
    int32_t parent;
  };

  bool find_children(int32_t pid);
  void find_by_parents();
  void add(const Found& found);
  bool read_process(Process& process, bool is_own);
  void pay_for_gone();

  ProcFolder& proc_;
  std::span<char> buffer_;
  int32_t own_pid_;
  int64_t tick_ns_;
  uint64_t page_bytes_;
  bool has_children_files_ = true;
  bool has_block_io_ = false;
  bool has_lost_some_ = false;
  uint64_t discovered_ticks_ = UINT64_MAX;  // when the last discover() began
  std::vector<Process> processes_;          // parents before their children; this one first
  std::vector<Process> before_;
  std::vector<Found> found_;
  std::vector<Found> all_;
  std::vector<int32_t> threads_;
  std::vector<int32_t> children_;
};

}  // namespace stepscope
