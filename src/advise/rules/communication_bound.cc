// communication-bound: collectives take much of the step, with nothing computed meanwhile.
#include <algorithm>

#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/job_rules.h"
#include "advise/rules.h"
#include "advise/step_replay.h"
#include "analyze/operator_rules.h"

namespace stepscope {
namespace communication_bound {

constexpr double kOfStep = 0.1;

constexpr const char* kFix =
    "Communicate less often (gradient accumulation under no_sync), less (bfloat16 gradients), or "
    "while something is computed (larger buckets, no waiting for each collective).";
constexpr const char* kCode =
    "model.register_comm_hook(None, "
    "torch.distributed.algorithms.ddp_comm_hooks.default_hooks.bf16_compress_hook)";

}  // namespace communication_bound

void check_job_communication_bound(const Job& job, Findings& found) {
  using namespace communication_bound;
  if (job.step_ns <= 0 || !job.is_by_step) return;
  const CommunicationUse use(job);
  const double share = use.transfer_ns / job.step_ns;
  if (share < kOfStep) return;
  Finding finding;
  finding.id = "communication-bound";
  finding.at_stake_fraction = std::min(1.0, share);
  const auto step_ns = static_cast<int64_t>(job.step_ns);
  finding.title = in_percent(share) +
                  " of each step is communication that no computation hides, waiting for slow "
                  "ranks not counted; without it the step falls " +
                  times_less(step_ns, static_cast<int64_t>(job.step_ns - use.transfer_ns));
  finding.figures = {{"communication per step", use.communication_ns, Unit::kNs},
                     {"not hidden, without waits", use.transfer_ns, Unit::kNs},
                     {"step", job.step_ns, Unit::kNs}};
  finding.fix = kFix;
  finding.code = kCode;
  found.push_back(std::move(finding));
}

void check_communication_bound(const Case& c, Findings& found) {
  using namespace communication_bound;
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
  finding.fix = kFix;
  finding.code = kCode;
  found.push_back(std::move(finding));
}

}  // namespace stepscope
