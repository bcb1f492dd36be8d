// What the kernel says of a thread: whether it runs, and what it waits in where that can be known.
//
//   ThreadWait wait = read_thread_wait(pid, tid);
//   describe(wait);                                  // "waiting in read of pipe:[3311]"
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace stepscope::cli {

struct ThreadWait {
  enum class State { kGone, kRunning, kWaiting, kUninterruptible, kStopped, kTraced };

  State state = State::kGone;
  std::string call;          // the system call: "futex"; or the kernel's own function; or empty
  std::string on;            // what it waits for: "pipe:[4711]", "process 12"; or empty
  uint64_t futex = 0;        // the address of the word that it waits for
  bool has_timeout = false;  // of a futex: it goes on by itself some time
  uint64_t runs = 0;  // times that it got a core: the same later on, and it has not run since

  bool is_waiting() const { return state == State::kWaiting || state == State::kUninterruptible; }
};

ThreadWait read_thread_wait(pid_t pid, pid_t tid);
const char* to_text(ThreadWait::State state);  // one word: "running"
std::string describe(const ThreadWait& wait);

}  // namespace stepscope::cli
