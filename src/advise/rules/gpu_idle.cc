// gpu-idle: the GPU computes for less than half of the step. What it waits for the rest of the time
// (analyze/idle_causes.h) decides what is to be done.
#include <algorithm>
#include <string>
#include <vector>

#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/step_replay.h"
#include "analyze/device_slices.h"
#include "analyze/idle_causes.h"

namespace stepscope {
namespace gpu_idle {

constexpr double kBusy = 0.5;
constexpr double kLeastBusy = 0.005;  // less: the program hardly uses it
constexpr uint64_t kFewKernels = 10;  // in a step
constexpr float kLeft = 0.1;          // of the host's work, once a graph or a compiler does it

// Of one device, from the first steady step's begin to the last one's end.
IdleCauses find_causes(const Case& c, int32_t device) {
  if (c.times.empty()) return {};
  const int64_t begin_ns = c.times.intervals().front().begin_ns;
  const int64_t end_ns = c.times.intervals().back().end_ns;
  const auto work = DeviceSlices::of(c.trace);
  std::vector<DeviceSlice> taken;
  for (const DeviceStream& stream : work->streams()) {
    if (stream.device != device) continue;
    for (const DeviceSlice& slice : work->of_stream(stream)) {
      if (begin_ns <= slice.start_ns && slice.start_ns < end_ns) taken.push_back(slice);
    }
  }
  std::stable_sort(taken.begin(), taken.end(), [](const DeviceSlice& a, const DeviceSlice& b) {
    return a.start_ns < b.start_ns;
  });
  return find_idle_causes(c.trace, taken);
}

struct IdleAdvice {
  std::string why;
  std::string fix;
  bool is_for_host = true;  // a faster host is what helps
};

IdleAdvice advise_on(const IdleCauses& causes) {
  const auto share = [&](int64_t ns) {
    return in_percent(static_cast<double>(ns) /
                      static_cast<double>(std::max<int64_t>(1, causes.idle_ns())));
  };
  if (causes.other_ns > std::max(causes.host_wait_ns, causes.kernel_wait_ns)) {
    return {
        share(causes.other_ns) +
            " of its idle time work was launched and waited, for another stream, an event or a "
            "copy",
        "Work was there in time and had to wait: let copies and collectives run beside the "
        "computation (non_blocking=True from pinned memory, a stream of their own, prefetching), "
        "and make streams wait for each other as late as possible.",
        false};
  }
  if (causes.kernel_wait_ns > causes.host_wait_ns) {
    return {share(causes.kernel_wait_ns) + " of its idle time are the gaps between kernels",
            "Have fewer and longer kernels: torch.compile fuses them, a CUDA graph shortens the "
            "gaps, a larger batch gives each more to do."};
  }
  return {
      causes.idle_ns() > 0
          ? share(causes.host_wait_ns) + " of its idle time it waits for the host's launches"
          : "it waits for the host",
      "Give it more at a time: a larger batch, torch.compile, fewer waits for results (.item(), "
      ".cpu(), print of a tensor), and input that is ready when it is needed."};
}

}  // namespace gpu_idle

void check_gpu_idle(const Case& c, Findings& found) {
  using namespace gpu_idle;
  const auto devices = DeviceUse::of(c);
  if (!c.has_steps() || devices->empty() || devices->utilisation(c) >= kBusy) return;
  if (devices->utilisation(c) < kLeastBusy) return;
  if (devices->devices.front().kernels < kFewKernels * c.steps()) return;
  // Without launches there is nothing to tell a reason by: a TPU's are not in its profile.
  const auto work = DeviceSlices::of(c.trace);
  if (2 * work->launched() < work->all().size()) return;
  const auto replay = StepReplay::of(c.trace);
  WhatIf fed(c.trace);
  leave_out_input(c, fed);
  speed_up_host(c, fed, kLeft);
  const int64_t fed_ns = replay->step_ns(fed);

  const IdleCauses causes = find_causes(c, devices->devices.front().device);
  const IdleAdvice advice = advise_on(causes);

  Finding finding;
  finding.id = "gpu-idle";
  finding.at_stake_fraction = replay->saved(fed);
  finding.title = "the GPU computes for only " + in_percent(devices->utilisation(c)) +
                  " of each step (" + advice.why + ")";
  if (finding.at_stake_fraction >= kLeastAtStake) {
    finding.title +=
        "; if the host kept it busy the step would fall " + times_less(replay->step_ns(), fed_ns);
  }
  const auto per_step = [&](int64_t ns) { return static_cast<double>(c.per_step(ns)); };
  finding.figures = {
      {"GPU utilisation", devices->utilisation(c), Unit::kFraction},
      {"step", static_cast<double>(replay->step_ns()), Unit::kNs},
      {"busy per step", per_step(devices->busy.total_ns()), Unit::kNs},
      {"waiting for input per step", per_step(devices->input_wait_ns), Unit::kNs},
      {"waiting for the host per step", per_step(causes.host_wait_ns), Unit::kNs},
      {"between kernels per step", per_step(causes.kernel_wait_ns), Unit::kNs},
      {"waiting for something else per step", per_step(causes.other_ns), Unit::kNs},
      {"kernels per step",
       static_cast<double>(devices->devices.front().kernels) / static_cast<double>(c.steps()),
       Unit::kCount},
      {"step of a busy GPU", static_cast<double>(fed_ns), Unit::kNs}};
  finding.fix = advice.fix;
  if (advice.is_for_host) {
    finding.code = "model = torch.compile(model, mode=\"reduce-overhead\")";
  }
  finding.is_note = !advice.is_for_host;  // what a stream that waits would save is not in the trace
  found.push_back(std::move(finding));
}

}  // namespace stepscope
