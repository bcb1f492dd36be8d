// Helpers of the rules about devices: programs without one of their causes, for StepReplay.
#pragma once

#include <functional>

#include "advise/case.h"
#include "advise/finding.h"
#include "advise/what_if.h"

namespace stepscope {

// As if batches were there when the training thread asks for them.
void leave_out_input(const Case& c, WhatIf& what_if);
// As if all of the host's other work took `left` of its time.
void speed_up_host(const Case& c, WhatIf& what_if, float left);
// As if the device work of those labels took `left` of its time.
void speed_up_device(WhatIf& what_if, float left,
                     const std::function<bool(const Label&)>& is_wanted);

// The share of a step that is saved where the host's labels, and the device work that is launched
// in them, take `left` of their time. Where devices wait for input, of a step that does not: what
// other findings have at stake comes on top of that.
double find_saved(const Case& c, float left, const std::function<bool(LabelId)>& is_wanted);
// `share` of the step, or less where devices set the pace: no more than find_saved().
double limit_to_saved(const Case& c, double share, float left,
                      const std::function<bool(LabelId)>& is_wanted);
// Findings about work of the host alone have no more at stake than a host saves that takes no time
// at all: while a device has work left, nobody waits for the host.
void limit_to_host(const Case& c, Findings& findings);

}  // namespace stepscope
