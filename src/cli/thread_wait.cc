#include "cli/thread_wait.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/process_stat.h"
#include "cli/socket_names.h"

namespace stepscope::cli {
namespace {

struct Call {
  long number;
  const char* name;
  bool is_of_file;  // its first argument is a file descriptor
};

// Those that may wait. Some are not there on every machine.
constexpr Call kCalls[] = {
    {SYS_read, "read", true},
    {SYS_write, "write", true},
    {SYS_readv, "readv", true},
    {SYS_writev, "writev", true},
    {SYS_pread64, "pread", true},
    {SYS_pwrite64, "pwrite", true},
    {SYS_recvfrom, "recv", true},
    {SYS_recvmsg, "recvmsg", true},
    {SYS_recvmmsg, "recvmmsg", true},
    {SYS_sendto, "send", true},
    {SYS_sendmsg, "sendmsg", true},
    {SYS_accept, "accept", true},
    {SYS_accept4, "accept", true},
    {SYS_connect, "connect", true},
    {SYS_fsync, "fsync", true},
    {SYS_fdatasync, "fdatasync", true},
    {SYS_ftruncate, "ftruncate", true},
    {SYS_flock, "flock", true},
    {SYS_fcntl, "fcntl", true},
    {SYS_ioctl, "ioctl", true},
    {SYS_close, "close", true},
    {SYS_getdents64, "getdents", true},
    {SYS_sendfile, "sendfile", true},
    {SYS_splice, "splice", true},
    {SYS_copy_file_range, "copy_file_range", true},
    {SYS_epoll_pwait, "epoll_wait", false},
    {SYS_ppoll, "poll", false},
    {SYS_pselect6, "select", false},
    {SYS_futex, "futex", false},
    {SYS_nanosleep, "nanosleep", false},
    {SYS_clock_nanosleep, "clock_nanosleep", false},
    {SYS_wait4, "wait", false},
    {SYS_waitid, "wait", false},
    {SYS_rt_sigtimedwait, "sigtimedwait", false},
    {SYS_rt_sigsuspend, "sigsuspend", false},
    {SYS_restart_syscall, "restart_syscall", false},
    {SYS_semtimedop, "semop", false},
    {SYS_msgrcv, "msgrcv", false},
    {SYS_msgsnd, "msgsnd", false},
    {SYS_mq_timedreceive, "mq_receive", false},
    {SYS_io_getevents, "io_getevents", false},
    {SYS_openat, "open", false},
    {SYS_newfstatat, "stat", false},
    {SYS_unlinkat, "unlink", false},
    {SYS_mkdirat, "mkdir", false},
    {SYS_mmap, "mmap", false},
    {SYS_munmap, "munmap", false},
    {SYS_mprotect, "mprotect", false},
    {SYS_madvise, "madvise", false},
    {SYS_msync, "msync", false},
    {SYS_execve, "execve", false},
    {SYS_clone, "clone", false},
    {SYS_sync, "sync", false},
#ifdef SYS_io_uring_enter
    {SYS_io_uring_enter, "io_uring_enter", true},
#endif
#ifdef SYS_poll
    {SYS_poll, "poll", false},
#endif
#ifdef SYS_select
    {SYS_select, "select", false},
#endif
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, "epoll_wait", false},
#endif
#ifdef SYS_pause
    {SYS_pause, "pause", false},
#endif
#ifdef SYS_open
    {SYS_open, "open", false},
#endif
#ifdef SYS_vfork
    {SYS_vfork, "vfork", false},
#endif
};

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

ThreadWait::State state_of(char letter) {
  switch (letter) {
    case 'R':
      return ThreadWait::State::kRunning;
    case 'S':
    case 'I':
      return ThreadWait::State::kWaiting;
    case 'D':
      return ThreadWait::State::kUninterruptible;
    case 'T':
      return ThreadWait::State::kStopped;
    case 't':
      return ThreadWait::State::kTraced;
    default:
      return ThreadWait::State::kGone;
  }
}

// The numbers after the first one: "0x5 0x7ffe…".
std::vector<uint64_t> parse_arguments(const char* at, const char* end) {
  std::vector<uint64_t> arguments;
  while (end - at > 3 && std::string_view(at, 3) == " 0x") {
    uint64_t value = 0;
    const auto [next, error] = std::from_chars(at + 3, end, value, 16);
    if (error != std::errc()) break;
    arguments.push_back(value);
    at = next;
  }
  return arguments;
}

// "pipe:[4711]", "TCP 10.0.0.2:40112 to 10.0.0.1:29500", "/var/log/job.txt"; empty where it is not
// open any more.
std::string name_of_file(pid_t pid, uint64_t file) {
  std::error_code ignored;
  const std::string name =
      std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/fd/" + std::to_string(file),
                                    ignored)
          .string();
  constexpr std::string_view kSocket = "socket:[";
  uint64_t number = 0;
  if (!name.starts_with(kSocket) ||
      std::from_chars(name.data() + kSocket.size(), name.data() + name.size(), number).ec !=
          std::errc()) {
    return name;
  }
  return describe_socket(pid, number);
}

// The first of the files that poll() was called with, and how many more.
std::string name_of_polled(pid_t pid, uint64_t address, uint64_t count) {
  if (count == 0) return "";
  pollfd first{};
  const std::string path = "/proc/" + std::to_string(pid) + "/mem";
  const int memory = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (memory < 0) return "";
  const ssize_t got = ::pread(memory, &first, sizeof(first), static_cast<off_t>(address));
  ::close(memory);
  if (got != sizeof(first) || first.fd < 0) return "";
  std::string name = name_of_file(pid, static_cast<uint64_t>(first.fd));
  if (!name.empty() && count > 1) name += " and " + std::to_string(count - 1) + " more";
  return name;
}

bool is_poll(long number) {
#ifdef SYS_poll
  if (number == SYS_poll) return true;
#endif
  return number == SYS_ppoll;
}

// "0 0x5 0x7ffe… …", the call's number and what it was called with; "running"; empty where this
// user may not know.
void read_call(pid_t pid, const std::string& thread, ThreadWait& wait) {
  const std::string line = read_line(thread + "/syscall");
  const char* end = line.data() + line.size();
  long number = -1;
  const auto [rest, error] = std::from_chars(line.data(), end, number);
  if (error != std::errc() || number < 0) return;
  const std::vector<uint64_t> arguments = parse_arguments(rest, end);
  const auto argument = [&](size_t i) { return i < arguments.size() ? arguments[i] : 0; };
  if (number == SYS_futex) {
    wait.futex = argument(0);
    wait.has_timeout = argument(3) != 0;
  }
  if (number == SYS_wait4 && static_cast<int32_t>(argument(0)) > 0) {
    wait.on = "process " + std::to_string(argument(0));
  }
  if (number == SYS_waitid && argument(0) == P_PID) {
    wait.on = "process " + std::to_string(argument(1));
  }
  if (is_poll(number)) wait.on = name_of_polled(pid, argument(0), argument(1));
  for (const Call& call : kCalls) {
    if (call.number != number) continue;
    wait.call = call.name;
    if (call.is_of_file && !arguments.empty()) wait.on = name_of_file(pid, argument(0));
    return;
  }
  wait.call = "system call " + std::to_string(number);
}

// "9271253 8487271 12": the last one.
uint64_t read_runs(const std::string& thread) {
  const std::string line = read_line(thread + "/schedstat");
  uint64_t runs = 0;
  std::from_chars(line.data() + line.rfind(' ') + 1, line.data() + line.size(), runs);
  return runs;
}

}  // namespace

ThreadWait read_thread_wait(pid_t pid, pid_t tid) {
  const std::string name = std::to_string(pid) + "/task/" + std::to_string(tid);
  ThreadWait wait;
  wait.state = state_of(read_process_stat(name).state);
  wait.runs = read_runs("/proc/" + name);
  // One that a debugger holds, or --pause, has its call for as long.
  if (!wait.is_waiting() && wait.state != ThreadWait::State::kTraced) return wait;
  read_call(pid, "/proc/" + name, wait);
  if (wait.call.empty()) {
    const std::string function = read_line("/proc/" + name + "/wchan");
    if (function != "0") wait.call = function;
  }
  return wait;
}

const char* to_text(ThreadWait::State state) {
  switch (state) {
    case ThreadWait::State::kGone:
      return "gone";
    case ThreadWait::State::kRunning:
      return "running";
    case ThreadWait::State::kWaiting:
      return "waiting";
    case ThreadWait::State::kUninterruptible:
      return "blocked";
    case ThreadWait::State::kStopped:
      return "stopped";
    case ThreadWait::State::kTraced:
      return "traced";
  }
  return "gone";
}

std::string describe(const ThreadWait& wait) {
  std::string text = to_text(wait.state);
  if (wait.state == ThreadWait::State::kTraced) text = "held by a debugger";
  if (wait.state == ThreadWait::State::kUninterruptible) text = "blocked in the kernel";
  if (!wait.call.empty()) {
    text += wait.state == ThreadWait::State::kUninterruptible ? ": " : " in ";
    text += wait.call;
  }
  if (!wait.on.empty()) text += (wait.call == "wait" ? " for " : " of ") + wait.on;
  return text;
}

}  // namespace stepscope::cli
