#include "cli/sample_child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/byte_sink.h"
#include "collect/sample/process_memory.h"

namespace stepscope::cli {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

Result<std::unique_ptr<ByteSink>> open_file(const std::string& path) {
  auto file = FileSink::create(path);
  if (!file) return file.status();
  return std::unique_ptr<ByteSink>(*std::move(file));
}

}  // namespace

bool may_read_children() {
  static const uint64_t kRead = 1;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (::getppid() == parent) ::pause();
    ::_exit(0);
  }
  const bool may = sample::ProcessMemory::open(child, reinterpret_cast<uint64_t>(&kRead)).ok();
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return may;
}

void ChildSampler::start(pid_t child) {
  sample::SamplerOptions options;
  options.period_ns = kSecondNs / hz_;
  options.with_children = true;
  options.beside_calls = beside_ == Beside::kCalls;
  auto thread = sample::SamplerThread::start(
      {.pid = child, .open_file = [path = path_] { return open_file(path); }}, options);
  if (thread) {
    thread_ = *std::move(thread);
  } else {
    fault_ = thread.status();
  }
}

Status ChildSampler::stop() {
  if (thread_ == nullptr) return fault_;
  Status status = thread_->stop();
  thread_.reset();
  return status;
}

}  // namespace stepscope::cli
