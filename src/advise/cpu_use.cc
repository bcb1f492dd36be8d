#include "advise/cpu_use.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace stepscope {
namespace {

constexpr double kLeastLooks = 10;     // at the global lock, to tell anything of it
constexpr double kBusyMachine = 0.95;  // of the cores: then waiting may be for a core

class CounterMeans {
 public:
  CounterMeans(const Trace& trace, uint32_t process, const IntervalSet& times)
      : trace_(trace), process_(process), times_(times) {}

  // -1 where there is no such counter, or no value of it in the times.
  double mean(std::string_view name, std::string_view series) const {
    const Track* track = find(name, series);
    return track == nullptr ? -1 : mean_of(*track);
  }
  // The sum of the means of the counters whose names begin so; -1 where one has no value.
  double sum_of_means(std::string_view prefix) const {
    double sum = 0;
    for (const Track& track : trace_.tracks()) {
      if (!is_counter(track) || !trace_.string(track.name).starts_with(prefix)) continue;
      const double mean = mean_of(track);
      if (mean < 0) return -1;
      sum += mean;
    }
    return sum;
  }
  // How many values there are in the times.
  uint64_t count(std::string_view name, std::string_view series) const {
    const Track* track = find(name, series);
    if (track == nullptr) return 0;
    const auto values =
        trace_.counters().time_ns.begin() + static_cast<int64_t>(track->first_value);
    return static_cast<uint64_t>(
        std::count_if(values, values + static_cast<int64_t>(track->value_count),
                      [&](int64_t time_ns) { return times_.contains(time_ns); }));
  }
  // The last value, at whatever time.
  double last(std::string_view name) const {
    const Track* track = find(name, "");
    if (track == nullptr || track->value_count == 0) return -1;
    return trace_.counters().value[track->first_value + track->value_count - 1];
  }

 private:
  bool is_counter(const Track& track) const {
    return track.kind == TrackKind::kCounter && track.process == process_;
  }
  const Track* find(std::string_view name, std::string_view series) const {
    for (const Track& track : trace_.tracks()) {
      if (is_counter(track) && trace_.string(track.name) == name &&
          trace_.string(track.series) == series) {
        return &track;
      }
    }
    return nullptr;
  }

  double mean_of(const Track& track) const {
    const CounterColumns& counters = trace_.counters();
    double sum = 0;
    uint64_t count = 0;
    for (uint64_t i = track.first_value; i < track.first_value + track.value_count; ++i) {
      if (!times_.contains(counters.time_ns[i])) continue;
      sum += counters.value[i];
      ++count;
    }
    return count == 0 ? -1 : sum / static_cast<double>(count);
  }

  const Trace& trace_;
  uint32_t process_;
  const IntervalSet& times_;
};

}  // namespace

CpuUse CpuUse::find(const Trace& trace, const Track& training_thread, const IntervalSet& times) {
  CpuUse use;
  const uint32_t process = training_thread.process;
  const CounterMeans means(trace, process, times);
  for (const Track& track : trace.tracks()) {
    use.cores += track.kind == TrackKind::kCounter && track.process == process &&
                 trace.string(track.name).starts_with("core ");
  }
  const double user = means.mean("CPU", "user");
  use.system_cores = means.mean("CPU", "system");
  if (user >= 0) use.used_cores = user + std::max(0.0, use.system_cores);
  const double busy_cores = means.sum_of_means("core ");
  if (use.cores > 0 && use.used_cores >= 0 && busy_cores >= 0) {
    use.other_cores = std::max(0.0, busy_cores - use.used_cores);
  }
  use.machine_cores = means.mean("machine CPU", "busy");
  use.iowait_cores = means.mean("machine CPU", "iowait");
  use.stolen_cores = means.mean("machine CPU", "steal");
  const double written = means.mean("disk", "write");
  if (written >= 0) use.disk_bytes_per_s = written + std::max(0.0, means.mean("disk", "read"));
  use.run_queue = means.mean("run queue", "");
  use.torch_threads = means.last("PyTorch threads");
  const auto looks = static_cast<double>(means.count("global lock", "held"));
  if (looks >= kLeastLooks) {
    use.lock_held = means.mean("global lock", "held");
    use.lock_margin = 2 * std::sqrt(use.lock_held * (1 - use.lock_held) / looks) + 1 / looks;
  }
  const bool is_first = training_thread.tid == trace.processes()[process].pid;
  const double running = is_first ? means.mean("first thread", "running") : -1;
  if (running >= 0) {
    const double queued = std::max(0.0, means.mean("first thread", "queued"));
    use.waiting = std::max(0.0, 1 - running - queued);
  } else if (use.used_cores >= 0 && use.machine_cores < kBusyMachine * use.cores) {
    use.waiting = 1 - std::min(1.0, use.used_cores);
  }
  return use;
}

}  // namespace stepscope
