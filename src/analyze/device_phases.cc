#include "analyze/device_phases.h"

#include <algorithm>
#include <array>
#include <optional>

#include "analyze/operator_rules.h"

namespace stepscope {
namespace {

struct LaunchPhase {
  int64_t correlation;
  Phase phase;
};

std::vector<LaunchPhase> find_launches(const Trace& trace, const ArgColumn& correlations,
                                       uint32_t process,
                                       const std::function<Phase(int64_t)>& phase_at) {
  const SliceColumns& slices = trace.slices();
  std::vector<LaunchPhase> launches;
  size_t at = 0;
  for (const Track& track : trace.tracks()) {
    if (track.kind != TrackKind::kThread || track.process != process) continue;
    const SliceId first{track.first_slice};
    at = static_cast<size_t>(
        std::lower_bound(correlations.rows.begin(), correlations.rows.end(), first) -
        correlations.rows.begin());
    for (; at < correlations.rows.size(); ++at) {
      const uint32_t row = index(correlations.rows[at]);
      if (row >= track.first_slice + track.slice_count) break;
      if (trace.labels()[slices.label[row]].kind != SliceKind::kRuntime) continue;
      launches.push_back({correlations.ints[at], phase_at(slices.start_ns[row])});
    }
  }
  std::sort(launches.begin(), launches.end(), [](const LaunchPhase& a, const LaunchPhase& b) {
    return a.correlation < b.correlation;
  });
  return launches;
}

std::optional<Phase> find_phase(const std::vector<LaunchPhase>& launches, int64_t correlation) {
  const auto it = std::lower_bound(
      launches.begin(), launches.end(), correlation,
      [](const LaunchPhase& launch, int64_t wanted) { return launch.correlation < wanted; });
  if (it == launches.end() || it->correlation != correlation) return std::nullopt;
  return it->phase;
}

}  // namespace

DevicePhases find_device_phases(const Trace& trace, uint32_t process,
                                const std::function<Phase(int64_t)>& phase_at) {
  const SliceColumns& slices = trace.slices();
  const std::vector<Label>& labels = trace.labels().all();
  if (std::none_of(labels.begin(), labels.end(),
                   [](const Label& label) { return is_device_work(label.kind); })) {
    return {};
  }
  const ArgColumn* correlations = trace.find_args("correlation", ArgType::kInt);
  std::vector<LaunchPhase> launches;
  if (correlations != nullptr) launches = find_launches(trace, *correlations, process, phase_at);

  std::array<IntervalSet, kPhases> times;
  for (uint32_t row = 0; row < slices.size(); ++row) {
    const Label& label = labels[index(slices.label[row])];
    if (!is_device_work(label.kind)) continue;
    Phase phase = Phase::kHost;
    if (label.kind != SliceKind::kKernel) {
      phase = Phase::kCopy;
    } else if (is_communication_kernel(trace.string(label.name))) {
      phase = Phase::kCommunication;
    } else if (correlations != nullptr) {
      const auto at = correlations->find(SliceId{row});
      if (at) phase = find_phase(launches, correlations->ints[*at]).value_or(Phase::kHost);
    }
    times[static_cast<size_t>(phase)].add(slices.start_ns[row], slices.end_ns(row));
  }
  DevicePhases phases;
  for (const Phase phase : {Phase::kInput, Phase::kForward, Phase::kBackward, Phase::kOptimizer,
                            Phase::kHost, Phase::kCommunication, Phase::kCopy}) {
    IntervalSet& time = times[static_cast<size_t>(phase)];
    time.normalize();
    if (!time.empty()) phases.emplace_back(phase, std::move(time));
  }
  return phases;
}

}  // namespace stepscope
