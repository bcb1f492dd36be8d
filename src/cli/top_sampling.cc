#include "cli/top_sampling.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/tick_clock.h"
#include "collect/sample/thread_clock.h"

namespace stepscope::cli {
namespace {

constexpr int64_t kHandOverNs = 100'000'000;
// Where nobody takes them (a terminal that is stuck), later ones are only counted.
constexpr size_t kMaxSamples = 1'000'000;

template <typename T>
void append_to(std::vector<T>& rows, std::vector<T>&& later) {
  if (rows.empty()) {
    rows = std::move(later);
  } else {
    std::move(later.begin(), later.end(), std::back_inserter(rows));
  }
}

// Of all its threads, those too that run no Python. 0 where it is gone.
uint64_t read_process_cpu_ns(pid_t pid) {
  clockid_t clock = 0;
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

void TopBatch::tell(sample::SampleSink& sink) const {
  for (const Process& row : processes) sink.add_process(row.number, row.pid, row.command_line);
  for (const Thread& row : threads) sink.add_thread(row.number, row.process, row.tid, row.name);
  for (const Function& row : functions) {
    sink.add_function(row.number, row.name, row.file, row.first_line);
  }
  for (const Stack& row : stacks) sink.add_stack(row.number, row.parent, row.function, row.line);
  for (const sample::Sample& row : samples) sink.add_sample(row);
  for (const uint32_t process : ended_processes) sink.end_process(process);
}

void TopBatch::append(TopBatch&& later) {
  append_to(processes, std::move(later.processes));
  append_to(threads, std::move(later.threads));
  append_to(functions, std::move(later.functions));
  append_to(stacks, std::move(later.stacks));
  append_to(samples, std::move(later.samples));
  append_to(ended_processes, std::move(later.ended_processes));
  append_to(end.new_threads, std::move(later.end.new_threads));
  append_to(end.new_processes, std::move(later.end.new_processes));
  later.end.new_threads = std::move(end.new_threads);
  later.end.new_processes = std::move(end.new_processes);
  end = std::move(later.end);
  left_out = later.left_out;
}

std::vector<Status> TopSampling::start(const std::vector<pid_t>& pids) {
  std::vector<Status> added;
  // Signals are for the thread that displays.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this, &pids, &added] { run(pids, added); });
  } catch (const std::system_error& no_thread) {
    const Status fault = Status::error(std::string("the sampler's thread: ") + no_thread.what());
    added.assign(pids.size(), fault);
    is_started_ = true;
    has_ended_ = true;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::unique_lock lock(mutex_);
  started_.wait(lock, [this] { return is_started_; });
  return added;
}

void TopSampling::stop() {
  must_stop_ = true;
  if (thread_.joinable()) thread_.join();
}

TopBatch TopSampling::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(handed_over_, {});
}

// Targets are added here too: the kernel lets only one thread stop them.
void TopSampling::run(const std::vector<pid_t>& pids, std::vector<Status>& added) {
  ::pthread_setname_np(::pthread_self(), "stepscope-sample");
  sample::Sampler sampler(options_, *this);
  std::vector<Status> outcomes;
  for (const pid_t pid : pids) outcomes.push_back(sampler.add(pid));
  start_ns_ = read_clock_ns(CLOCK_MONOTONIC);
  {
    // The caller's vector is gone once it knows.
    const std::lock_guard lock(mutex_);
    added = std::move(outcomes);
    is_started_ = true;
  }
  started_.notify_all();
  int64_t next_ns = start_ns_ + kHandOverNs;
  sampler.run(duration_ns_, [&] {
    const int64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
    if (now_ns >= next_ns) {
      hand_over(sampler, now_ns);
      next_ns = now_ns + kHandOverNs;
    }
    return must_stop_.load(std::memory_order_relaxed);
  });
  hand_over(sampler, read_clock_ns(CLOCK_MONOTONIC));
  has_ended_ = true;
}

void TopSampling::hand_over(sample::Sampler& sampler, int64_t now_ns) {
  sampler.finish();  // what waiting threads did so far as well
  batch_.end.end_ns = now_ns;
  batch_.end.threads = sampler.threads();
  batch_.end.counts = sampler.counts();
  for (const LiveProcess& process : live_) {
    batch_.end.processes.push_back({process.number, read_process_cpu_ns(process.pid)});
  }
  TopBatch batch = std::exchange(batch_, {});
  const std::lock_guard lock(mutex_);
  if (handed_over_.samples.size() + batch.samples.size() > kMaxSamples) {
    left_out_ += batch.samples.size();
    batch.samples.clear();
  }
  batch.left_out = left_out_;
  handed_over_.append(std::move(batch));
}

void TopSampling::add_process(uint32_t process, pid_t pid, const std::string& command_line) {
  batch_.processes.push_back({process, pid, command_line});
  batch_.end.new_processes.push_back({process, read_process_cpu_ns(pid)});
  live_.push_back({process, pid});
}

void TopSampling::add_thread(uint32_t thread, uint32_t process, int32_t tid,
                             const sample::ThreadName& name) {
  batch_.threads.push_back({thread, process, tid, name});
  if (thread < threads_seen_) return;  // another name
  threads_seen_ = thread + 1;
  const auto live = std::find_if(live_.begin(), live_.end(),
                                 [&](const LiveProcess& entry) { return entry.number == process; });
  if (live == live_.end()) return;
  sample::ThreadClock clock(live->pid, tid, /*keeps_files=*/false);
  clock.look(read_clock_ns(CLOCK_MONOTONIC));
  batch_.end.new_threads.push_back({thread, clock.cpu_ns()});
}

void TopSampling::add_function(uint32_t function, std::string_view name, std::string_view file,
                               int32_t first_line) {
  batch_.functions.push_back({function, std::string(name), std::string(file), first_line});
}

void TopSampling::add_stack(uint32_t stack, uint32_t parent, uint32_t function, int32_t line) {
  batch_.stacks.push_back({stack, parent, function, line});
}

void TopSampling::add_sample(const sample::Sample& sample) { batch_.samples.push_back(sample); }

void TopSampling::end_process(uint32_t process) {
  batch_.ended_processes.push_back(process);
  std::erase_if(live_, [&](const LiveProcess& live) { return live.number == process; });
}

}  // namespace stepscope::cli
