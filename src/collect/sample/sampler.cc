#include "collect/sample/sampler.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <unordered_map>
#include <utility>

#include "base/tick_clock.h"
#include "collect/sample/sampled_process.h"

namespace stepscope::sample {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kLookForChildrenNs = 50 * kMs;
constexpr int64_t kChildrenShare = 100;  // looking for them takes 1 % of the time at most
constexpr int64_t kTryAgainNs = 100 * kMs;
constexpr int64_t kTryForNs = 5'000 * kMs;  // a child that is not Python yet may become it
constexpr size_t kFilesInside = 256;
constexpr size_t kFilesForOthers = 128;

size_t files_to_keep(bool is_inside) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (!is_inside && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1 << 16);
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  const size_t allowed = limit.rlim_cur > kFilesForOthers ? limit.rlim_cur - kFilesForOthers : 0;
  return is_inside ? std::min(allowed / 4, kFilesInside) : allowed;
}

void sleep_until(int64_t deadline_ns) {
  const timespec deadline{deadline_ns / 1'000'000'000, deadline_ns % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) == EINTR) return;
}

}  // namespace

class Sampler::Impl {
 public:
  Impl(const SamplerOptions& options, SampleSink& sink)
      : shared_{options, sink, StackNumbers(sink), {}, 0, 0, files_to_keep(options.is_inside)} {}

  Status add(pid_t pid);
  void tick(int64_t weight_ns);
  void run(int64_t duration_ns, const std::function<bool()>& should_stop);
  void finish();
  bool has_targets() const { return !targets_.empty() || !waited_for_.empty(); }
  const SamplerCounts& counts() const { return shared_.counts; }
  std::vector<ThreadState> threads() const;

 private:
  struct Waited {
    int64_t since_ns;
    int64_t next_ns;
  };

  void look_for_children(int64_t now_ns);
  void try_waited(int64_t now_ns);
  bool knows(pid_t pid) const;
  int64_t jitter(int64_t period_ns);

  SamplerState shared_;
  std::vector<pid_t> roots_;
  std::vector<std::unique_ptr<SampledProcess>> targets_;
  std::unordered_map<pid_t, Waited> waited_for_;  // that may become Python programs
  std::unordered_map<pid_t, int64_t> given_up_;   // when they were
  int64_t last_tick_ns_ = 0;
  int64_t next_children_ns_ = 0;
  uint64_t random_ = 0x9e3779b97f4a7c15;
};

Status Sampler::Impl::add(pid_t pid) {
  auto target = SampledProcess::open(pid, shared_);
  if (!target) return target.status();
  roots_.push_back(pid);
  targets_.push_back(*std::move(target));
  return {};
}

bool Sampler::Impl::knows(pid_t pid) const {
  const bool is_target = std::any_of(targets_.begin(), targets_.end(),
                                     [&](const auto& target) { return target->pid() == pid; });
  return is_target || waited_for_.contains(pid) || given_up_.contains(pid);
}

// Children of what was a target once too: a parent may end before them.
void Sampler::Impl::look_for_children(int64_t now_ns) {
  if (!shared_.options.with_children || now_ns < next_children_ns_) return;
  std::vector<pid_t> parents = roots_;
  for (const auto& target : targets_) {
    if (std::find(parents.begin(), parents.end(), target->pid()) == parents.end()) {
      parents.push_back(target->pid());
    }
  }
  for (const pid_t parent : parents) {
    for (const pid_t child : find_descendants(parent)) {
      if (child != ::getpid() && !knows(child)) waited_for_[child] = {now_ns, now_ns};
    }
  }
  const int64_t took_ns = read_clock_ns(CLOCK_MONOTONIC) - now_ns;
  next_children_ns_ = now_ns + std::max(kLookForChildrenNs, kChildrenShare * took_ns);
}

void Sampler::Impl::try_waited(int64_t now_ns) {
  for (auto at = waited_for_.begin(); at != waited_for_.end();) {
    auto& [pid, waited] = *at;
    if (now_ns < waited.next_ns) {
      ++at;
      continue;
    }
    auto target = SampledProcess::open(pid, shared_);
    if (target) {
      targets_.push_back(*std::move(target));
    } else if (now_ns - waited.since_ns < kTryForNs && ::kill(pid, 0) == 0) {
      waited.next_ns = now_ns + kTryAgainNs;
      ++at;
      continue;
    } else {
      given_up_[pid] = now_ns;
    }
    at = waited_for_.erase(at);
  }
  // Numbers of processes are used again.
  std::erase_if(given_up_, [](const auto& entry) { return ::kill(entry.first, 0) != 0; });
}

// `weight_ns` is what the looks stand for; 0: the time since the last ones.
void Sampler::Impl::tick(int64_t weight_ns) {
  const int64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  const int64_t wall_ns = last_tick_ns_ == 0 ? shared_.options.period_ns : now_ns - last_tick_ns_;
  last_tick_ns_ = now_ns;
  ++shared_.counts.ticks;
  look_for_children(now_ns);
  if (!waited_for_.empty()) try_waited(now_ns);
  std::erase_if(targets_, [&](const std::unique_ptr<SampledProcess>& target) {
    const SampledProcess::Moment moment{now_ns, wall_ns, weight_ns > 0 ? weight_ns : wall_ns};
    if (target->look(moment)) return false;
    // It has ended, or another program has taken its place: that may be Python as well.
    if (target->is_there()) waited_for_[target->pid()] = {now_ns, now_ns};
    return true;
  });
}

// A look is anywhere in its period, so that what the program does in even steps is met at each of
// them alike. It stands for that period, whatever the time since the last one is: that time is
// longer where the look is late in its period, which may be where the program does one thing only.
int64_t Sampler::Impl::jitter(int64_t period_ns) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return static_cast<int64_t>(random_ % static_cast<uint64_t>(period_ns));
}

void Sampler::Impl::run(int64_t duration_ns, const std::function<bool()>& should_stop) {
  const int64_t period_ns = shared_.options.period_ns;
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  if (!shared_.options.is_inside) {
    // Little work, but on time; not allowed to everyone.
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), -10);
  }
  const int64_t begin_ns = read_clock_ns(CLOCK_MONOTONIC);
  int64_t tick_ns = begin_ns;  // the begin of the period that the next tick is in
  while (!should_stop() && has_targets()) {
    if (duration_ns > 0 && tick_ns - begin_ns >= duration_ns) break;
    const int64_t due_ns = tick_ns + jitter(period_ns);
    sleep_until(due_ns);
    const int64_t late_ns = read_clock_ns(CLOCK_MONOTONIC) - due_ns;
    int64_t periods = 1;
    if (late_ns >= 2 * period_ns) {
      periods = late_ns / period_ns;
      shared_.counts.missed_ticks += static_cast<uint64_t>(periods - 1);
    }
    if (should_stop()) break;
    tick(periods * period_ns);
    tick_ns += periods * period_ns;
  }
}

void Sampler::Impl::finish() {
  for (const auto& target : targets_) target->finish();
}

std::vector<ThreadState> Sampler::Impl::threads() const {
  std::vector<ThreadState> states;
  for (const auto& target : targets_) target->append_threads(states);
  std::sort(states.begin(), states.end(),
            [](const ThreadState& a, const ThreadState& b) { return a.thread < b.thread; });
  return states;
}

Sampler::Sampler(const SamplerOptions& options, SampleSink& sink)
    : impl_(std::make_unique<Impl>(options, sink)) {}
Sampler::~Sampler() = default;

Status Sampler::add(pid_t pid) { return impl_->add(pid); }
void Sampler::tick() { impl_->tick(0); }
void Sampler::run(int64_t duration_ns, const std::function<bool()>& should_stop) {
  impl_->run(duration_ns, should_stop);
}
void Sampler::finish() { impl_->finish(); }
bool Sampler::has_targets() const { return impl_->has_targets(); }
const SamplerCounts& Sampler::counts() const { return impl_->counts(); }
std::vector<ThreadState> Sampler::threads() const { return impl_->threads(); }

}  // namespace stepscope::sample
