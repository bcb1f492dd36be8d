// ThreadClock: whether a thread of another process runs, from what the kernel counts of it. The
// files stay open, so that a look costs a microsecond.
//
//   ThreadClock clock(pid, tid, /*keeps_files=*/true);
//   if (!clock.look(now_ns)) ...            // it has ended
//   if (clock.has_run()) ...                // since the look before; else its stack is the same
//   if (clock.is_running(wall_ns)) ...      // now: on a core, or wanting one
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace stepscope::sample {

class ThreadClock {
 public:
  ThreadClock(pid_t pid, int32_t tid, bool keeps_files);
  ThreadClock(ThreadClock&& other) noexcept;
  ThreadClock& operator=(ThreadClock&& other) noexcept;
  ~ThreadClock();

  // False where the thread is gone.
  bool look(int64_t now_ns);
  bool has_run() const { return has_run_; }
  // `wall_ns` is the time since the look before.
  bool is_running(int64_t wall_ns);
  // Of its whole life: on a core, and wanting one.
  uint64_t cpu_ns() const { return run_ns_; }
  uint64_t queued_ns() const { return queued_ns_; }
  // The kernel tells these; else they are 0.
  bool has_counts() const { return has_counts_; }

 private:
  bool read_counts(uint64_t counts[3]);
  long read_file(const char* name, int& file, char* text, unsigned long bytes) const;

  pid_t pid_;
  int32_t tid_;
  bool keeps_files_;
  int schedstat_ = -1;
  int state_ = -1;  // of `syscall`, or where that is not allowed of `stat`
  bool reads_stat_ = false;
  uint64_t run_ns_ = 0;
  uint64_t queued_ns_ = 0;
  uint64_t slices_ = 0;  // times that it got a core
  uint64_t ran_ns_ = 0;  // between the last two looks
  int64_t same_since_ns_ = 0;
  bool has_run_ = true;
  bool has_looked_ = false;
  bool has_counts_ = true;
};

}  // namespace stepscope::sample
