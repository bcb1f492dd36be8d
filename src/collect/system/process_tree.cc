#include "collect/system/process_tree.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>

#include "base/tick_clock.h"

#include "base/process_stat.h"

namespace stepscope {
namespace {

constexpr uint64_t kMaxAmount = uint64_t{1} << 56;  // sums of some of these are safe
constexpr int64_t kMaxClockLeadNs = 10'000'000'000;

int64_t to_amount(uint64_t number) { return static_cast<int64_t>(std::min(number, kMaxAmount)); }

int64_t to_ns(uint64_t ticks, int64_t tick_ns) {
  const auto most = static_cast<uint64_t>(int64_t{kMaxAmount} / tick_ns);
  return static_cast<int64_t>(std::min(ticks, most)) * tick_ns;
}

// The kernel's number of another process's CPU clock: exact, where its stat file has ticks.
clockid_t cpu_clock(int32_t pid) {
  constexpr uint32_t kScheduled = 2;
  return static_cast<clockid_t>(~static_cast<uint32_t>(pid) << 3 | kScheduled);
}

}  // namespace

ProcessTree::ProcessTree(ProcFolder& proc, std::span<char> buffer)
    : proc_(proc),
      buffer_(buffer),
      own_pid_(::getpid()),
      tick_ns_(1'000'000'000 / std::max(1L, ::sysconf(_SC_CLK_TCK))),
      page_bytes_(static_cast<uint64_t>(::sysconf(_SC_PAGESIZE))) {
  const std::string_view setting = proc_.read_once("sys/kernel/task_delayacct", buffer_);
  has_block_io_ = setting.starts_with('1');
  add({own_pid_, 0});
}

// Fork makes a child of the thread that called it. False where the system has no such lists.
bool ProcessTree::find_children(int32_t pid) {
  char path[64];
  threads_.clear();
  std::snprintf(path, sizeof path, "%d/task", pid);
  if (!proc_.list_numbers(path, buffer_, threads_)) return true;  // gone
  children_.clear();
  for (const int32_t thread : threads_) {
    std::snprintf(path, sizeof path, "%d/task/%d/children", pid, thread);
    parse_pids(proc_.read_once(path, buffer_), children_);
  }
  for (const int32_t child : children_) found_.push_back({child, pid});
  if (!children_.empty() || pid != own_pid_) return true;
  std::snprintf(path, sizeof path, "%d/task/%d/children", pid, pid);
  const int descriptor = proc_.open(path, 0);
  if (descriptor < 0) return false;
  ::close(descriptor);
  return true;
}

// The slow way: each process of the machine is asked for its parent.
void ProcessTree::find_by_parents() {
  threads_.clear();
  all_.clear();
  proc_.list_numbers(".", buffer_, threads_);
  for (const int32_t pid : threads_) {
    char path[32];
    std::snprintf(path, sizeof path, "%d/stat", pid);
    ProcessStat stat;
    if (parse_process_stat(proc_.read_once(path, buffer_), stat)) {
      all_.push_back({pid, stat.parent});
    }
  }
  for (size_t i = 0; i < found_.size() && found_.size() < kMaxProcesses; ++i) {
    const int32_t parent = found_[i].pid;
    for (const Found& one : all_) {
      if (one.parent == parent && one.pid != own_pid_) found_.push_back(one);
    }
  }
}

void ProcessTree::discover() {
  const auto now_ticks = static_cast<uint64_t>(read_clock_ns(CLOCK_BOOTTIME) / tick_ns_);
  found_.clear();
  found_.push_back({own_pid_, 0});
  for (size_t i = 0; has_children_files_ && i < found_.size() && found_.size() < kMaxProcesses;
       ++i) {
    has_children_files_ = find_children(found_[i].pid);
  }
  if (!has_children_files_) find_by_parents();
  if (found_.size() > kMaxProcesses) found_.resize(kMaxProcesses, Found{});

  before_.swap(processes_);
  processes_.clear();
  for (const Found& found : found_) {
    const auto known = std::find_if(before_.begin(), before_.end(),
                                    [&](const Process& one) { return one.pid == found.pid; });
    if (known == before_.end()) {
      add(found);
      continue;
    }
    known->parent = found.parent;
    processes_.push_back(std::move(*known));
    known->pid = -1;
  }
  // Those that have just gone are to leave their credit still; others have left the tree.
  for (Process& process : before_) {
    if (process.pid > 0 && process.stat_file.read(buffer_).empty()) {
      processes_.push_back(std::move(process));
    }
  }
  before_.clear();
  discovered_ticks_ = now_ticks;
  has_lost_some_ = false;
}

void ProcessTree::add(const Found& found) {
  const bool is_own = found.pid == own_pid_;
  const std::string folder = is_own ? "self" : std::to_string(found.pid);
  Process process{found.pid, found.parent, ProcFile(proc_, folder + "/stat"),
                  ProcFile(proc_, folder + "/io")};
  if (!process.stat_file.is_open()) return;
  ProcessStat stat;
  if (!parse_process_stat(process.stat_file.read(buffer_), stat)) return;
  process.start_ticks = stat.start_ticks;
  // One that was there before it could be found has used time that is not of this recording.
  process.is_new_born =
      !is_own && discovered_ticks_ != UINT64_MAX && stat.start_ticks >= discovered_ticks_;
  processes_.push_back(std::move(process));
}

bool ProcessTree::read_process(Process& process, bool is_own) {
  ProcessStat stat;
  if (!parse_process_stat(process.stat_file.read(buffer_), stat)) return false;
  if (stat.start_ticks != process.start_ticks) return false;  // the number has a new owner
  const int64_t system_ns = to_ns(stat.system_ticks, tick_ns_);
  const int64_t ticks_ns = to_ns(stat.user_ticks, tick_ns_) + system_ns;
  timespec time{};
  int64_t cpu_ns = ticks_ns;
  if (::clock_gettime(is_own ? CLOCK_PROCESS_CPUTIME_ID : cpu_clock(process.pid), &time) == 0) {
    const int64_t clock_ns = int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    // Otherwise it is the clock of a process in another namespace of numbers.
    if (clock_ns >= ticks_ns - tick_ns_ && clock_ns < ticks_ns + kMaxClockLeadNs) {
      cpu_ns = clock_ns;
    }
  }
  Usage& usage = process.usage;
  usage.own[kUserNs] = cpu_ns - system_ns;
  usage.own[kSystemNs] = system_ns;
  usage.own[kBlockIoNs] = to_ns(stat.block_io_ticks, tick_ns_);
  usage.own[kMinorFaults] = to_amount(stat.minor_faults);
  usage.own[kMajorFaults] = to_amount(stat.major_faults);
  usage.reaped[kUserNs] = to_ns(stat.reaped_user_ticks, tick_ns_);
  usage.reaped[kSystemNs] = to_ns(stat.reaped_system_ticks, tick_ns_);
  usage.reaped[kMinorFaults] = to_amount(stat.reaped_minor_faults);
  usage.reaped[kMajorFaults] = to_amount(stat.reaped_major_faults);
  process.resident_pages = stat.resident_pages;
  if (stat.block_io_ticks > 0) has_block_io_ = true;

  // Kept as it was where it can not be read, as after a change of user. A file that could not be
  // opened stays so: asking each time would cost more than the rest.
  ProcessIo io;
  process.has_disk =
      process.io_file.is_open() && parse_process_io(process.io_file.read(buffer_), io);
  if (process.has_disk) {
    usage.reaped[kReadBytes] = to_amount(io.read_bytes);
    usage.reaped[kWrittenBytes] = to_amount(io.written_bytes);
  }
  process.account.update(usage, process.is_new_born);
  return true;
}

void ProcessTree::pay_for_gone() {
  for (size_t i = processes_.size(); i-- > 0;) {
    const Process& gone = processes_[i];
    if (!gone.is_gone) continue;
    has_lost_some_ = true;
    const auto parent = std::find_if(processes_.begin(), processes_.end(),
                                     [&](const Process& one) { return one.pid == gone.parent; });
    if (parent != processes_.end()) parent->account.add_credit(gone.account.counted());
  }
}

bool ProcessTree::read(Reading& reading) {
  reading = {};
  if (processes_.empty()) add({own_pid_, 0});
  if (processes_.empty()) return false;
  bool any_gone = false;
  for (size_t i = 0; i < processes_.size(); ++i) {
    const bool is_read = read_process(processes_[i], i == 0);
    if (i == 0 && !is_read) return false;
    processes_[i].is_gone = !is_read;
    any_gone = any_gone || !is_read;
  }
  if (any_gone) {
    pay_for_gone();
    std::erase_if(processes_, [](const Process& one) { return one.is_gone; });
  }
  for (Process& process : processes_) {
    const Amounts used = process.account.settle();
    for (uint32_t i = 0; i < kQuantities; ++i) reading.used[i] += used[i];
    reading.resident_bytes += process.resident_pages * page_bytes_;
  }
  reading.own_resident_bytes = processes_[0].resident_pages * page_bytes_;
  reading.has_disk = processes_[0].has_disk;
  reading.has_block_io = has_block_io_;
  return true;
}

}  // namespace stepscope
