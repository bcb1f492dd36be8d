#include "collect/system/system_reader.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/tick_clock.h"

namespace stepscope {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr int64_t kSecondNs = 1'000'000'000;
constexpr size_t kBufferBytes = size_t{256} << 10;  // /proc/stat of a machine with 1,000 cores
constexpr size_t kMaxKnownCores = 4096;
// Together 0.078 % of a core: the rest up to 0.1 % is for recording, and for measuring this.
constexpr double kTreeShare = 0.0004;
constexpr double kMachineShare = 0.0002;
constexpr double kNetworkShare = 0.0001;
constexpr double kDiscoveryShare = 0.00008;
constexpr int64_t kMaxPauseNs = 2 * kSecondNs;
constexpr int64_t kMaxDiscoveryPauseNs = 30 * kSecondNs;
constexpr int64_t kDiscoveryNs = kSecondNs - kSecondNs / 20;  // every tenth reading
constexpr int64_t kMaxDiscoveryNs = 10 * kSecondNs;           // where no process was made since
constexpr int64_t kMinElapsedNs = 1'000'000;                  // below, rates would be noise
constexpr double kMaxBacklogNs = 2 * kNsPerSecond;            // times cores

uint64_t growth(uint64_t before, uint64_t now) { return now > before ? now - before : 0; }

double per_second(double amount, int64_t elapsed_ns) {
  return std::max(0.0, amount) * kNsPerSecond / static_cast<double>(elapsed_ns);
}

double share_of(uint64_t part, uint64_t total) {
  return static_cast<double>(part) / static_cast<double>(total);
}

}  // namespace

void CpuBudget::pass(int64_t elapsed_ns) {
  const double most = share_ * static_cast<double>(kSecondNs);
  balance_ns_ = std::min(most, balance_ns_ + share_ * static_cast<double>(elapsed_ns));
}

void CpuBudget::spend(int64_t cpu_ns) {
  const double least = -share_ * static_cast<double>(max_pause_ns_);
  balance_ns_ = std::max(least, balance_ns_ - static_cast<double>(cpu_ns));
}

SystemReader::SystemReader(bool keeps_budget)
    : keeps_budget_(keeps_budget),
      buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)),
      tree_(proc_, {buffer_.get(), kBufferBytes}),
      first_thread_file_(proc_, "self/schedstat"),
      machine_file_(proc_, "stat"),
      network_file_(proc_, "self/net/dev"),
      tree_budget_(kTreeShare, kMaxPauseNs),
      machine_budget_(kMachineShare, kMaxPauseNs),
      network_budget_(kNetworkShare, kMaxPauseNs),
      discovery_budget_(kDiscoveryShare, kMaxDiscoveryPauseNs) {
  const long configured = std::clamp(::sysconf(_SC_NPROCESSORS_CONF), 1L, long{kMaxKnownCores});
  const auto cores = static_cast<uint32_t>(configured);
  core_count_ = cores;
  cores_.resize(cores);
  cores_before_.resize(cores);
  values_.core_fractions.resize(cores, SystemValues::kUnknown);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool is_known = ::sched_getaffinity(::getpid(), sizeof allowed, &allowed) == 0;
  for (uint32_t i = 0; i < cores && shown_cores_.size() < kMaxCores; ++i) {
    const bool is_allowed = !is_known || (i < CPU_SETSIZE && CPU_ISSET(i, &allowed));
    if (cores <= kMaxCores || is_allowed) shown_cores_.push_back(i);
  }
}

template <typename Part>
void SystemReader::run(CpuBudget& budget, Part part) {
  if (keeps_budget_ && !budget.is_left()) return;
  const int64_t begin_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  part();
  budget.spend(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
}

const SystemValues& SystemReader::read() {
  const int64_t now_ns = read_clock_ns(CLOCK_MONOTONIC);
  std::vector<double> cores = std::move(values_.core_fractions);
  std::fill(cores.begin(), cores.end(), SystemValues::kUnknown);
  values_ = {};
  values_.core_fractions = std::move(cores);
  if (last_read_ns_ != 0) {
    for (CpuBudget* budget :
         {&tree_budget_, &machine_budget_, &network_budget_, &discovery_budget_}) {
      budget->pass(now_ns - last_read_ns_);
    }
  }
  last_read_ns_ = now_ns;
  run(machine_budget_, [&] { read_machine(); });
  discover(now_ns);
  run(tree_budget_, [&] {
    read_tree(read_clock_ns(CLOCK_MONOTONIC));
    read_first_thread(read_clock_ns(CLOCK_MONOTONIC));
  });
  run(network_budget_, [&] { read_network(read_clock_ns(CLOCK_MONOTONIC)); });
  return values_;
}

void SystemReader::discover(int64_t now_ns) {
  const int64_t since_ns = now_ns - discovery_ns_;
  if (discovery_ns_ != 0 && since_ns < kDiscoveryNs) return;
  const bool may_have_changed =
      forks_ == 0 || forks_ != forks_at_discovery_ || tree_.has_lost_some();
  if (discovery_ns_ != 0 && !may_have_changed && since_ns < kMaxDiscoveryNs) return;
  run(discovery_budget_, [&] {
    tree_.discover();
    discovery_ns_ = now_ns;
    forks_at_discovery_ = forks_;
  });
}

void SystemReader::read_tree(int64_t now_ns) {
  const int64_t elapsed_ns = now_ns - tree_ns_;
  if (tree_ns_ != 0 && elapsed_ns < kMinElapsedNs) return;
  ProcessTree::Reading now;
  if (!tree_.read(now)) return;
  const bool is_first = tree_ns_ == 0;
  tree_ns_ = now_ns;
  values_.own_resident_bytes = static_cast<double>(now.own_resident_bytes);
  values_.resident_bytes = static_cast<double>(now.resident_bytes);
  if (is_first) return;

  // Time of children that came and went unseen arrives at once when they have ended: no more is
  // shown than the machine can have done, the rest with the next values.
  user_backlog_ns_ += static_cast<double>(now.used[kUserNs]);
  system_backlog_ns_ += static_cast<double>(now.used[kSystemNs]);
  const double user_ns = std::max(0.0, user_backlog_ns_);
  const double system_ns = std::max(0.0, system_backlog_ns_);
  const double most_ns = core_count_ * static_cast<double>(elapsed_ns);
  const double shown = std::min(1.0, most_ns / std::max(1.0, user_ns + system_ns));
  values_.user_cores = user_ns * shown / static_cast<double>(elapsed_ns);
  values_.system_cores = system_ns * shown / static_cast<double>(elapsed_ns);
  const double most_backlog_ns = kMaxBacklogNs * core_count_;
  user_backlog_ns_ = std::min(user_backlog_ns_ - user_ns * shown, most_backlog_ns);
  system_backlog_ns_ = std::min(system_backlog_ns_ - system_ns * shown, most_backlog_ns);

  const auto rate = [&](Quantity quantity) {
    return per_second(static_cast<double>(now.used[quantity]), elapsed_ns);
  };
  if (now.has_block_io) values_.iowait_cores = rate(kBlockIoNs) / kNsPerSecond;
  values_.minor_faults_per_s = rate(kMinorFaults);
  values_.major_faults_per_s = rate(kMajorFaults);
  if (now.has_disk) {
    values_.read_bytes_per_s = rate(kReadBytes);
    values_.written_bytes_per_s = rate(kWrittenBytes);
  }
}

void SystemReader::read_first_thread(int64_t now_ns) {
  const int64_t elapsed_ns = now_ns - first_thread_ns_;
  if (first_thread_ns_ != 0 && elapsed_ns < kMinElapsedNs) return;
  ThreadTimes now;
  if (!parse_schedstat(first_thread_file_.read({buffer_.get(), kBufferBytes}), now)) return;
  if (first_thread_ns_ != 0) {
    const auto share = [&](uint64_t ThreadTimes::*time) {
      const uint64_t ns = growth(first_thread_before_.*time, now.*time);
      return std::min(1.0, static_cast<double>(ns) / static_cast<double>(elapsed_ns));
    };
    values_.running = share(&ThreadTimes::running_ns);
    values_.queued = share(&ThreadTimes::queued_ns);
  }
  first_thread_before_ = now;
  first_thread_ns_ = now_ns;
}

// Shares of what the system's own clock ticks counted, not of the time between two readings: they
// move in whole ticks, and would jump between 0.9 and 1.1.
void SystemReader::read_machine() {
  MachineStat stat;
  const std::string_view text = machine_file_.read({buffer_.get(), kBufferBytes});
  if (!parse_machine_stat(text, stat, cores_)) return;
  forks_ = stat.forks;
  if (stat.core_lines > 0) core_count_ = stat.core_lines;
  // Without the thread that is reading this.
  if (stat.running_tasks >= 0) {
    values_.run_queue = static_cast<double>(std::max<int64_t>(0, stat.running_tasks - 1));
  }
  const uint64_t total = growth(all_before_.total(), stat.all.total());
  if (has_machine_ && total > 0) {
    values_.busy_cores =
        core_count_ * std::min(1.0, share_of(growth(all_before_.busy, stat.all.busy), total));
    values_.machine_iowait_cores =
        core_count_ * std::min(1.0, share_of(growth(all_before_.iowait, stat.all.iowait), total));
    values_.stolen_cores =
        core_count_ * std::min(1.0, share_of(growth(all_before_.steal, stat.all.steal), total));
    for (const uint32_t core : shown_cores_) {
      const uint64_t ticks = growth(cores_before_[core].total(), cores_[core].total());
      if (ticks == 0) continue;
      const uint64_t busy = growth(cores_before_[core].busy, cores_[core].busy);
      values_.core_fractions[core] = std::min(1.0, share_of(busy, ticks));
    }
  }
  if (!has_machine_ || total > 0) {
    all_before_ = stat.all;
    cores_before_ = cores_;
  }
  has_machine_ = true;
}

void SystemReader::read_network(int64_t now_ns) {
  const int64_t elapsed_ns = now_ns - network_ns_;
  if (network_ns_ != 0 && elapsed_ns < kMinElapsedNs) return;
  NetworkBytes now;
  if (!parse_net_dev(network_file_.read({buffer_.get(), kBufferBytes}), now)) return;
  if (network_ns_ != 0) {
    values_.received_bytes_per_s =
        per_second(static_cast<double>(growth(network_before_.received, now.received)), elapsed_ns);
    values_.sent_bytes_per_s =
        per_second(static_cast<double>(growth(network_before_.sent, now.sent)), elapsed_ns);
  }
  network_before_ = now;
  network_ns_ = now_ns;
}

}  // namespace stepscope
