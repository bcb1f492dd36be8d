// ThreadPause: makes all threads of a process stand still for a moment, by ptrace, and lets them go
// on. Between the moments the process is not attached to. Nothing is sent to it, and its parent
// does not see that it stood still: signals that come meanwhile reach it afterwards, a process that
// was stopped (Ctrl-Z) stays so. Should this program die, the kernel lets the threads go on.
//
//   ThreadPause pause(pid);
//   if (Status held = pause.pause(); !held.ok()) return held;   // "process 12: no permission to …"
//   for (pid_t tid : pause.stopped()) ...
//   pause.resume();
//
// One thread calls all of it: the kernel ties what is traced to a thread. A process that waits for
// its child while another of its threads pauses that child sees the stops too: it must wait again
// where WIFSTOPPED says so. As with every debugger, a few system calls (epoll_wait, sigtimedwait)
// return EINTR when the thread goes on; the others are continued.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/status.h"

namespace stepscope::sample {

class ThreadPause {
 public:
  explicit ThreadPause(pid_t pid);
  ThreadPause(const ThreadPause&) = delete;
  ThreadPause& operator=(const ThreadPause&) = delete;
  ~ThreadPause();  // lets all go on

  // Fails where the process is gone, where this user may not, and where a debugger is at it; then
  // nothing stands still.
  Status pause();
  void resume();

  // The threads that stand still, in ascending order.
  std::span<const pid_t> stopped() const { return stopped_; }
  // All do. Not so where a thread was deep in the kernel (a hung disk, vfork) for all the time that
  // pause() waits: it stands still as soon as it is back, until the next call.
  bool is_whole() const { return is_whole_; }

 private:
  enum class State : uint8_t { kComing, kStopped, kGone };
  struct Thread {
    pid_t tid;
    State state;
    int signal;  // that it was about to get
  };

  Status attach_new_threads(bool& found_new);
  Status attach(pid_t tid);
  Status explain_refusal(pid_t tid) const;
  bool wait_for_stops(int64_t deadline_ns);
  State look_at(Thread& thread);
  State look_for_end(const Thread& thread);
  bool has_ended(pid_t tid) const;
  void let_go(size_t index);
  void interrupt_all();
  void settle(int64_t wait_ns);
  void forget_gone();
  void rescue_attaching();

  pid_t pid_;
  DIR* tasks_;  // of /proc/PID/task: stays that process's when its number is given anew
  bool is_whole_ = false;
  bool is_own_child_ = false;
  std::vector<Thread> threads_;  // attached to
  std::vector<pid_t> stopped_;

  // To attach to a thread takes a lock that a thread of the process holds while it runs exec; it
  // waits for the ends of the others, which those who are attached to them must take note of. So
  // another thread does that where attaching takes long.
  std::mutex mutex_;
  std::condition_variable is_ending_changed_;
  bool is_ending_ = false;
  bool is_attaching_ = false;  // `threads_` may be looked at by the other thread
  uint64_t attached_count_ = 0;
  std::thread rescuer_;
};

}  // namespace stepscope::sample
