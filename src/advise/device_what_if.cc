#include "advise/device_what_if.h"

#include <algorithm>

#include "advise/device_use.h"
#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/step_replay.h"

namespace stepscope {

void leave_out_input(const Case& c, WhatIf& what_if) {
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    if (c.thread->role(LabelId{i}) == TrainingRole::kInput) what_if.host[i] = 0;
  }
}

void speed_up_host(const Case& c, WhatIf& what_if, float left) {
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    const bool is_input = c.thread->role(LabelId{i}) == TrainingRole::kInput;
    if (!is_input && !is_device_work(c.trace.labels()[LabelId{i}].kind)) what_if.host[i] = left;
  }
  what_if.nothing = left;
}

void speed_up_device(WhatIf& what_if, float left,
                     const std::function<bool(const Label&)>& is_wanted) {
  for (uint32_t i = 0; i < what_if.trace.labels().size(); ++i) {
    const Label& label = what_if.trace.labels()[LabelId{i}];
    if (is_device_work(label.kind) && is_wanted(label)) what_if.device[i] = left;
  }
}

double find_saved(const Case& c, float left, const std::function<bool(LabelId)>& is_wanted) {
  const auto replay = StepReplay::of(c.trace);
  WhatIf before(c.trace);
  if (c.share(DeviceUse::of(c)->input_wait_ns) >= kWarningAtStake) leave_out_input(c, before);
  WhatIf after = before;
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    if (is_wanted(LabelId{i})) after.scale(LabelId{i}, left);
  }
  return replay->saved(replay->step_ns(before), replay->step_ns(after));
}

double limit_to_saved(const Case& c, double share, float left,
                      const std::function<bool(LabelId)>& is_wanted) {
  return DeviceUse::of(c)->empty() ? share : std::min(share, find_saved(c, left, is_wanted));
}

void limit_to_host(const Case& c, Findings& findings) {
  if (findings.empty() || !c.has_steps()) return;
  const auto replay = StepReplay::of(c.trace);
  if (!replay->has_device_work()) return;
  WhatIf no_host(c.trace);
  speed_up_host(c, no_host, 0);
  const double most = replay->saved(no_host);
  for (Finding& finding : findings) {
    if (finding.at_stake_fraction <= most) continue;
    finding.at_stake_fraction = most;
    finding.title +=
        "; the GPU has work meanwhile, so that " + in_percent(most) + " of the step can be saved";
  }
}

}  // namespace stepscope
