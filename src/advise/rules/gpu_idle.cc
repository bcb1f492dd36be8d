// gpu-idle: the GPU computes for less than half of the step, and waits for the host for the rest.
#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/step_replay.h"

namespace stepscope {
namespace {

constexpr double kBusy = 0.5;
constexpr double kLeastBusy = 0.005;  // less: the program hardly uses it
constexpr uint64_t kFewKernels = 10;  // in a step
constexpr float kLeft = 0.1;          // of the host's work, once a graph or a compiler does it

}  // namespace

void check_gpu_idle(const Case& c, Findings& found) {
  const auto devices = DeviceUse::of(c);
  if (!c.has_steps() || devices->empty() || devices->utilisation(c) >= kBusy) return;
  if (devices->utilisation(c) < kLeastBusy) return;
  if (devices->devices.front().kernels < kFewKernels * c.steps()) return;
  const auto replay = StepReplay::of(c.trace);
  WhatIf fed(c.trace);
  leave_out_input(c, fed);
  speed_up_host(c, fed, kLeft);
  const int64_t fed_ns = replay->step_ns(fed);

  Finding finding;
  finding.id = "gpu-idle";
  finding.at_stake_fraction = replay->saved(fed);
  finding.title = "the GPU computes for only " + in_percent(devices->utilisation(c)) +
                  " of each step; if the host kept it busy the step would fall " +
                  times_less(replay->step_ns(), fed_ns);
  const auto per_step = [&](int64_t ns) { return static_cast<double>(c.per_step(ns)); };
  finding.figures = {
      {"GPU utilisation", devices->utilisation(c), Unit::kFraction},
      {"step", static_cast<double>(replay->step_ns()), Unit::kNs},
      {"busy per step", per_step(devices->busy.total_ns()), Unit::kNs},
      {"waiting for input per step", per_step(devices->input_wait_ns), Unit::kNs},
      {"kernels per step",
       static_cast<double>(devices->devices.front().kernels) / static_cast<double>(c.steps()),
       Unit::kCount},
      {"step of a busy GPU", static_cast<double>(fed_ns), Unit::kNs}};
  finding.fix =
      "Give it more at a time: a larger batch, torch.compile, fewer waits for results (.item(), "
      ".cpu(), print of a tensor), and input that is ready when it is needed.";
  finding.code = "model = torch.compile(model, mode=\"reduce-overhead\")";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
