// launch-bound: kernels are shorter than it takes the host to launch the next one, and the GPU
// waits in between.
#include <algorithm>
#include <vector>

#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/host_time.h"
#include "advise/rules.h"
#include "advise/step_replay.h"
#include "analyze/quantile.h"

namespace stepscope {
namespace launch_bound {

constexpr double kBusy = 0.5;           // of the time that is not waiting for input
constexpr double kLaunchBound = 0.5;    // of the kernels begin as soon as they are launched
constexpr uint64_t kManyKernels = 100;  // in a step
constexpr int64_t kShortNs = 20'000;    // the median kernel
constexpr float kLeft = 0.1;            // of the host's work, once a graph is launched at once

struct Kernels {
  uint64_t count = 0;
  uint64_t launch_bound = 0;
  int64_t median_ns = 0;
  SliceId call = kNoSlice;
};

Kernels find_kernels(const Case& c, const StepReplay& replay) {
  Kernels kernels;
  std::vector<int64_t> durations;
  const auto& all = replay.device_work();
  for (const StepReplay::DeviceWork& work : all) {
    if (c.trace.labels()[c.trace.slices().label[index(work.slice)]].kind != SliceKind::kKernel ||
        work.call == kNoSlice) {
      continue;
    }
    ++kernels.count;
    durations.push_back(work.dur_ns);
    const bool is_idle_before =
        work.before == StepReplay::kNone || all[work.before].end_ns() <= work.launch_ns;
    kernels.launch_bound += is_idle_before && work.other == StepReplay::kNone;
    kernels.call = work.call;
  }
  if (durations.empty()) return kernels;
  kernels.median_ns = quantile(durations, 0.5);
  return kernels;
}

}  // namespace launch_bound

void check_launch_bound(const Case& c, Findings& found) {
  using namespace launch_bound;
  const auto devices = DeviceUse::of(c);
  if (!c.has_steps() || devices->empty()) return;
  const int64_t rest_ns = c.recorded_ns - devices->input_wait_ns;
  if (static_cast<double>(devices->busy.total_ns()) >= kBusy * static_cast<double>(rest_ns)) return;
  const auto replay = StepReplay::of(c.trace);
  const Kernels kernels = find_kernels(c, *replay);
  if (kernels.count < kManyKernels * replay->steps() || kernels.median_ns > kShortNs ||
      static_cast<double>(kernels.launch_bound) <
          kLaunchBound * static_cast<double>(kernels.count)) {
    return;
  }
  WhatIf at_once(c.trace);
  speed_up_host(c, at_once, kLeft);
  const int64_t at_once_ns = replay->step_ns(at_once);

  Finding finding;
  finding.id = "launch-bound";
  finding.at_stake_fraction = replay->saved(at_once);
  const double per_step = static_cast<double>(kernels.count) / static_cast<double>(replay->steps());
  finding.title = "the GPU waits for the launch of most of its " +
                  std::to_string(static_cast<uint64_t>(per_step)) +
                  " kernels per step, which take " + in_time(kernels.median_ns) +
                  " each; launched at once the step would fall " +
                  times_less(replay->step_ns(), at_once_ns);
  if (const LabelId function = find_user_function(c, kernels.call);
      function != LabelId{UINT32_MAX}) {
    finding.where = c.place(function);
  }
  finding.figures = {
      {"GPU utilisation", devices->utilisation(c), Unit::kFraction},
      {"kernels per step", per_step, Unit::kCount},
      {"median kernel", static_cast<double>(kernels.median_ns), Unit::kNs},
      {"kernels that wait for their launch",
       static_cast<double>(kernels.launch_bound) / static_cast<double>(kernels.count),
       Unit::kFraction},
      {"step", static_cast<double>(replay->step_ns()), Unit::kNs},
      {"step when launched at once", static_cast<double>(at_once_ns), Unit::kNs}};
  finding.slices = {kernels.call};
  finding.fix =
      "Launch them together: torch.compile with CUDA graphs; or give each more to do: a larger "
      "batch, fused optimizers.";
  finding.code = "model = torch.compile(model, mode=\"reduce-overhead\")";
  finding.includes = {"gpu-idle"};
  found.push_back(std::move(finding));
}

}  // namespace stepscope
