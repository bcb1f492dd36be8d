#include "collect/sample/thread_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

namespace stepscope::sample {
namespace {

// The kernel brings the counts of a running thread up to date at its own ticks, 100 a second or
// more: one that has the same for longer has not run.
constexpr int64_t kCountsLagNs = 25'000'000;

}  // namespace

ThreadClock::ThreadClock(pid_t pid, int32_t tid, bool keeps_files)
    : pid_(pid), tid_(tid), keeps_files_(keeps_files) {}

ThreadClock::ThreadClock(ThreadClock&& other) noexcept { *this = std::move(other); }

ThreadClock& ThreadClock::operator=(ThreadClock&& other) noexcept {
  pid_ = other.pid_;
  tid_ = other.tid_;
  keeps_files_ = other.keeps_files_;
  std::swap(schedstat_, other.schedstat_);
  std::swap(state_, other.state_);
  reads_stat_ = other.reads_stat_;
  run_ns_ = other.run_ns_;
  queued_ns_ = other.queued_ns_;
  slices_ = other.slices_;
  ran_ns_ = other.ran_ns_;
  same_since_ns_ = other.same_since_ns_;
  has_run_ = other.has_run_;
  has_looked_ = other.has_looked_;
  has_counts_ = other.has_counts_;
  return *this;
}

ThreadClock::~ThreadClock() {
  if (schedstat_ >= 0) ::close(schedstat_);
  if (state_ >= 0) ::close(state_);
}

long ThreadClock::read_file(const char* name, int& file, char* text, unsigned long bytes) const {
  if (file < 0) {
    char path[80];
    std::snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid_, tid_, name);
    file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
  }
  const ssize_t got = ::pread(file, text, bytes, 0);
  if (!keeps_files_) ::close(std::exchange(file, -1));
  return got;
}

// "9271253 8487271 12": ns on a core, ns of wanting one, times that it got one.
bool ThreadClock::read_counts(uint64_t counts[3]) {
  char text[80];
  const long got = read_file("schedstat", schedstat_, text, sizeof(text));
  const char* at = text;
  const char* end = text + (got > 0 ? got : 0);
  for (int i = 0; i < 3; ++i) {
    while (at < end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, counts[i]);
    if (error != std::errc()) return false;
    at = next;
  }
  return true;
}

bool ThreadClock::look(int64_t now_ns) {
  uint64_t counts[3] = {};
  if (has_counts_ && !read_counts(counts)) {
    char path[80];
    std::snprintf(path, sizeof(path), "/proc/%d/task/%d", pid_, tid_);
    if (::access(path, F_OK) != 0) return false;
    has_counts_ = false;  // a kernel without them
  }
  if (!has_counts_) return true;
  ran_ns_ = std::exchange(has_looked_, true) ? counts[0] - run_ns_ : 0;
  const bool is_same = counts[0] == run_ns_ && counts[2] == slices_;
  run_ns_ = counts[0];
  queued_ns_ = counts[1];
  slices_ = counts[2];
  if (!is_same) same_since_ns_ = now_ns;
  has_run_ = now_ns - same_since_ns_ < kCountsLagNs;
  return true;
}

bool ThreadClock::is_running(int64_t wall_ns) {
  if (has_counts_ && !has_run_) return false;
  if (has_counts_ && ran_ns_ > 0 && static_cast<int64_t>(ran_ns_) >= wall_ns - wall_ns / 16) {
    return true;
  }
  char text[512];
  long got = -1;
  if (!reads_stat_) {
    // "running", or the number of the system call that it waits in.
    got = read_file("syscall", state_, text, sizeof(text));
    if (got > 0) return text[0] == 'r';
    reads_stat_ = true;
    if (state_ >= 0) ::close(std::exchange(state_, -1));
  }
  got = read_file("stat", state_, text, sizeof(text));
  const std::string_view stat(text, got > 0 ? static_cast<size_t>(got) : 0);
  const size_t name_end = stat.rfind(") ");
  return name_end != stat.npos && name_end + 2 < stat.size() && stat[name_end + 2] == 'R';
}

}  // namespace stepscope::sample
