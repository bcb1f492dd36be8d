// communication-bound: collectives take much of the step, with nothing computed meanwhile.
#include <algorithm>

#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/step_replay.h"
#include "analyze/operator_rules.h"

namespace stepscope {
namespace {

constexpr double kOfStep = 0.1;

}  // namespace

void check_communication_bound(const Case& c, Findings& found) {
  if (!c.has_steps()) return;
  const auto devices = DeviceUse::of(c);
  const bool is_on_device = devices->communication_ns > 0;
  const int64_t ns = is_on_device ? devices->communication_ns : c.phase_ns(Phase::kCommunication);
  const double share = c.share(ns);
  if (share < kOfStep) return;

  Finding finding;
  finding.id = "communication-bound";
  finding.at_stake_fraction = std::min(1.0, share);
  if (is_on_device) {
    const auto replay = StepReplay::of(c.trace);
    WhatIf hidden(c.trace);
    speed_up_device(hidden, 0, [&](const Label& label) {
      return label.kind == SliceKind::kKernel &&
             is_communication_kernel(c.trace.string(label.name));
    });
    finding.at_stake_fraction = replay->saved(hidden);
  }
  const int64_t step_ns = c.per_step(c.total_ns);
  const auto without_ns =
      static_cast<int64_t>(static_cast<double>(step_ns) * (1 - finding.at_stake_fraction));
  finding.title = in_percent(share) +
                  " of each step is communication that no computation hides; without it the step "
                  "falls " +
                  times_less(step_ns, without_ns);
  finding.figures = {{"communication per step", static_cast<double>(c.per_step(ns)), Unit::kNs},
                     {"communication", share, Unit::kFraction},
                     {"step", static_cast<double>(step_ns), Unit::kNs},
                     {"step without", static_cast<double>(without_ns), Unit::kNs}};
  finding.slices = {devices->longest_communication};
  finding.fix =
      "Communicate less often (gradient accumulation under no_sync), less (bfloat16 gradients), or "
      "while something is computed (larger buckets, no waiting for each collective).";
  finding.code =
      "model.register_comm_hook(None, "
      "torch.distributed.algorithms.ddp_comm_hooks.default_hooks.bf16_compress_hook)";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
