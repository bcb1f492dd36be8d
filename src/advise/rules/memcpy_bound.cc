// memcpy-bound: copies between host and device take time in which the device does nothing else.
#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/host_time.h"
#include "advise/rules.h"
#include "advise/step_replay.h"

namespace stepscope {

void check_memcpy_bound(const Case& c, Findings& found) {
  const auto devices = DeviceUse::of(c);
  if (!c.has_steps() || devices->empty() || devices->longest_copy == kNoSlice) return;
  const double share = c.share(devices->copy_ns);
  if (share < kWarningAtStake) return;
  const auto replay = StepReplay::of(c.trace);
  WhatIf hidden(c.trace);
  speed_up_device(hidden, 0, [](const Label& label) { return label.kind == SliceKind::kMemcpy; });
  const int64_t hidden_ns = replay->step_ns(hidden);

  Finding finding;
  finding.id = "memcpy-bound";
  finding.at_stake_fraction = replay->saved(hidden);
  finding.title = in_percent(share) +
                  " of each step copies memory while the GPU computes nothing; behind its "
                  "computation the step would fall " +
                  times_less(replay->step_ns(), hidden_ns);
  for (const StepReplay::DeviceWork& work : replay->device_work()) {
    if (work.slice != devices->longest_copy || work.call == kNoSlice) continue;
    const LabelId function = find_user_function(c, work.call);
    if (function != LabelId{UINT32_MAX}) finding.where = c.place(function);
  }
  finding.figures = {
      {"copies alone per step", static_cast<double>(c.per_step(devices->copy_ns)), Unit::kNs},
      {"copies alone", share, Unit::kFraction},
      {"step", static_cast<double>(replay->step_ns()), Unit::kNs},
      {"step without", static_cast<double>(hidden_ns), Unit::kNs}};
  finding.slices = {devices->longest_copy};
  finding.fix =
      "Let copies to the device start from pinned memory and not wait; keep on the device what is "
      "needed there again.";
  finding.code = "DataLoader(dataset, ..., pin_memory=True)\nx = x.to(\"cuda\", non_blocking=True)";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
