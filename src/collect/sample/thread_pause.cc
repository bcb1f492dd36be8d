#include "collect/sample/thread_pause.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include "base/mapped_file.h"

namespace stepscope::sample {
namespace {

constexpr int64_t kLongestStopNs = 100'000'000;
constexpr int64_t kLongestEndNs = 1'000'000'000;
constexpr auto kRescueInterval = std::chrono::milliseconds(100);
constexpr int64_t kNapNs = 20'000;
constexpr int kYields = 20;  // before naps: most threads stop within microseconds

int64_t now_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void rest(int round) {
  if (round < kYields) {
    ::sched_yield();
    return;
  }
  const timespec nap{0, kNapNs};
  ::nanosleep(&nap, nullptr);
}

std::string name_of(pid_t pid) { return "process " + std::to_string(pid); }

// The value of a line "Name:\tvalue" of /proc/PID/task/TID/status; empty where the thread is gone.
std::string read_status_line(pid_t pid, pid_t tid, std::string_view name) {
  const auto file =
      MappedFile::open("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/status");
  if (!file) return "";
  std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(name)) return std::string(line.substr(name.size()));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return "";
}

int number_in(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

ThreadPause::ThreadPause(pid_t pid)
    : pid_(pid), tasks_(::opendir(("/proc/" + std::to_string(pid) + "/task").c_str())) {
  is_own_child_ = number_in(read_status_line(pid_, pid_, "PPid:\t")) == ::getpid();
  rescuer_ = std::thread([this] { rescue_attaching(); });
}

ThreadPause::~ThreadPause() {
  resume();
  settle(kLongestEndNs);
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  is_ending_changed_.notify_one();
  rescuer_.join();
  if (tasks_ != nullptr) ::closedir(tasks_);
}

Status ThreadPause::pause() {
  resume();
  interrupt_all();
  is_whole_ = true;
  const int64_t deadline_ns = now_ns() + kLongestStopNs;
  // A thread that does not stand still yet may have started others since they were listed.
  for (bool found_new = true; found_new && is_whole_;) {
    if (Status attached = attach_new_threads(found_new); !attached.ok()) {
      resume();
      return attached;
    }
    is_whole_ = wait_for_stops(deadline_ns);
  }
  for (const Thread& thread : threads_) {
    if (thread.state == State::kStopped) stopped_.push_back(thread.tid);
  }
  std::sort(stopped_.begin(), stopped_.end());
  if (threads_.empty()) return Status::error(name_of(pid_) + ": it has ended");
  return {};
}

void ThreadPause::resume() {
  stopped_.clear();
  is_whole_ = false;
  for (size_t i = 0; i < threads_.size(); ++i) let_go(i);
  forget_gone();
}

Status ThreadPause::attach_new_threads(bool& found_new) {
  found_new = false;
  if (tasks_ == nullptr) return Status::error(name_of(pid_) + ": it has ended");
  ::rewinddir(tasks_);
  while (const dirent* entry = ::readdir(tasks_)) {
    const pid_t tid = number_in(entry->d_name);
    const bool is_known = std::any_of(threads_.begin(), threads_.end(),
                                      [tid](const Thread& thread) { return thread.tid == tid; });
    if (tid == 0 || is_known) continue;
    const size_t before = threads_.size();
    if (Status attached = attach(tid); !attached.ok()) return attached;
    found_new |= threads_.size() > before;
  }
  return {};
}

// A thread that ends meanwhile is no error.
Status ThreadPause::attach(pid_t tid) {
  const auto set_attaching = [this](bool is_attaching) {
    const std::lock_guard lock(mutex_);
    is_attaching_ = is_attaching;
    attached_count_ += !is_attaching;
  };
  set_attaching(true);
  const bool is_refused = ::ptrace(PTRACE_SEIZE, tid, 0, 0) != 0;
  const int error = errno;
  set_attaching(false);
  if (is_refused) return error == ESRCH ? Status() : explain_refusal(tid);
  threads_.push_back({tid, State::kComing, 0});
  ::ptrace(PTRACE_INTERRUPT, tid, 0, 0);
  return {};
}

// The kernel says EPERM for threads that end, for those that a debugger has, and for others'.
Status ThreadPause::explain_refusal(pid_t tid) const {
  const std::string state = read_status_line(pid_, tid, "State:\t");
  if (state.empty() || state[0] == 'Z' || state[0] == 'X') return {};
  if (const int tracer = number_in(read_status_line(pid_, tid, "TracerPid:\t")); tracer != 0) {
    return Status::error(name_of(pid_) + ": already traced by process " + std::to_string(tracer) +
                         "; only one debugger or profiler can stop it at a time");
  }
  return Status::error(
      name_of(pid_) +
      ": no permission to stop its threads; run this as root or with CAP_SYS_PTRACE, in a "
      "container with --cap-add SYS_PTRACE, or sample without --native and --pause");
}

// All threads are looked at in turn: to wait for one alone could be to wait for ever, since a
// thread that runs exec waits until the ends of the others were taken note of.
bool ThreadPause::wait_for_stops(int64_t deadline_ns) {
  for (int round = 0;; ++round) {
    bool all_stopped = true;
    for (size_t i = 0; i < threads_.size(); ++i) {  // looking may add one
      if (threads_[i].state != State::kComing) continue;
      Thread thread = threads_[i];
      thread.state = look_at(thread);
      threads_[i] = thread;
      all_stopped &= thread.state != State::kComing;
    }
    forget_gone();
    if (all_stopped) return true;
    if (now_ns() > deadline_ns) return false;
    rest(round);
  }
}

// The stop itself is asked for, not waited for: where the process is our child, another thread of
// ours that waits for it may be given the news first.
ThreadPause::State ThreadPause::look_at(Thread& thread) {
  siginfo_t info;
  if (::ptrace(PTRACE_GETSIGINFO, thread.tid, 0, &info) == 0) {
    const bool is_ours = info.si_code >> 8 == PTRACE_EVENT_STOP;
    thread.signal = is_ours ? 0 : info.si_signo;
    return State::kStopped;
  }
  // EINVAL: it stands still in a stop of its whole process.
  if (errno == EINVAL) return State::kStopped;
  return look_for_end(thread);
}

ThreadPause::State ThreadPause::look_for_end(const Thread& thread) {
  if (has_ended(thread.tid)) return State::kGone;
  if (errno != ECHILD) return State::kComing;
  // Gone without an end: it ran exec, and has the number of the process now.
  const bool has_first = std::any_of(threads_.begin(), threads_.end(),
                                     [this](const Thread& other) { return other.tid == pid_; });
  if (!has_first) threads_.push_back({pid_, State::kComing, 0});
  return State::kGone;
}

// Takes note of its end, too, without which it would not go away. Sets errno where there is no such
// thread.
bool ThreadPause::has_ended(pid_t tid) const {
  // The end of our own child is for those who started it.
  const bool leave_it = tid == pid_ && is_own_child_;
  siginfo_t info{};
  const int flags = WEXITED | WNOHANG | __WALL | (leave_it ? WNOWAIT : 0);
  errno = 0;
  if (::waitid(P_PID, static_cast<id_t>(tid), &info, flags) != 0 || info.si_pid == 0) return false;
  return info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
}

void ThreadPause::let_go(size_t index) {
  Thread thread = threads_[index];  // a copy: looking may add one to them
  if (thread.state == State::kComing) thread.state = look_at(thread);
  if (thread.state == State::kStopped) {
    const auto signal = static_cast<intptr_t>(thread.signal);
    const bool is_detached = ::ptrace(PTRACE_DETACH, thread.tid, 0, signal) == 0;
    thread.signal = 0;
    // Else it was killed where it stood, or another thread's exec took its place.
    thread.state = is_detached ? State::kGone : look_for_end(thread);
  }
  threads_[index] = thread;
}

// Threads that did not stop in time can not be let go until they do.
void ThreadPause::settle(int64_t wait_ns) {
  const int64_t deadline_ns = now_ns() + wait_ns;
  for (int round = 0; !threads_.empty() && now_ns() < deadline_ns; ++round) {
    interrupt_all();
    for (size_t i = 0; i < threads_.size(); ++i) let_go(i);
    forget_gone();
    if (!threads_.empty()) rest(round);
  }
}

// Again, since the place of a thread may have been taken by one that was not asked yet.
void ThreadPause::interrupt_all() {
  for (const Thread& thread : threads_) ::ptrace(PTRACE_INTERRUPT, thread.tid, 0, 0);
}

void ThreadPause::rescue_attaching() {
  std::unique_lock lock(mutex_);
  for (uint64_t last_count = UINT64_MAX; !is_ending_;) {
    is_ending_changed_.wait_for(lock, kRescueInterval, [this] { return is_ending_; });
    const bool is_long = is_attaching_ && attached_count_ == last_count;
    last_count = is_attaching_ ? attached_count_ : UINT64_MAX;
    if (!is_long) continue;
    for (Thread& thread : threads_) {
      if (thread.state != State::kGone && has_ended(thread.tid)) thread.state = State::kGone;
    }
  }
}

void ThreadPause::forget_gone() {
  std::erase_if(threads_, [](const Thread& thread) { return thread.state == State::kGone; });
}

}  // namespace stepscope::sample
