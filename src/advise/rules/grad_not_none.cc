// grad-not-none: gradients are filled with zeros and then added to, instead of being written.
#include <string_view>

#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/rules.h"

namespace stepscope {

void check_grad_not_none(const Case& c, Findings& found) {
  if (!c.has_steps() || !c.work) return;
  LabelWork zero_grad, zero;
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    const LabelId label{i};
    const LabelWork& work = c.work->of(label, Part::kRest);
    if (work.calls == 0) continue;
    const std::string_view name = c.trace.string(c.trace.labels()[label].name);
    if (c.thread->role(label) == TrainingRole::kZeroGrad) zero_grad = work;
    if (name == "aten::zero_" || name == "aten::_foreach_zero_") {
      zero.calls += work.calls;
      zero.total_ns += work.total_ns;
    }
  }
  // With set_to_none nothing is computed in it.
  if (zero_grad.calls == 0 || zero.total_ns < zero_grad.total_ns / 4) return;
  // Each gradient is written once more, and read and added to once more: as long again.
  double share = 2 * c.share(zero_grad.total_ns);
  if (!DeviceUse::of(c)->empty()) {
    share = find_saved(
        c, 0, [&](LabelId label) { return c.thread->role(label) == TrainingRole::kZeroGrad; });
  }
  if (share < kLeastAtStake) return;

  Finding finding;
  finding.id = "grad-not-none";
  finding.at_stake_fraction = share;
  finding.title = in_percent(share) + " of each step fills gradients with zeros and adds to them";
  finding.figures = {
      {"zero_grad per step", static_cast<double>(c.per_step(zero_grad.total_ns)), Unit::kNs},
      {"tensors filled per step", static_cast<double>(zero.calls) / static_cast<double>(c.steps()),
       Unit::kCount}};
  finding.slices = {zero_grad.longest};
  finding.fix = "Let zero_grad drop the gradients; backward then writes them anew.";
  finding.code = "optimizer.zero_grad(set_to_none=True)";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
