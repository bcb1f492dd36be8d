// single-tensor-optimizer: the optimizer updates parameter by parameter, with several small
// operators for each, where one fused operator would do for all.
#include <string_view>

#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/rules.h"

namespace stepscope {
namespace {

constexpr double kOfStep = 0.08;
constexpr double kLeft = 0.35;        // of the optimizer's time, once it is fused
constexpr double kMinOperators = 20;  // in one step() of the optimizer

}  // namespace

void check_single_tensor_optimizer(const Case& c, Findings& found) {
  if (!c.has_steps() || !c.work) return;
  const int64_t optimizer_ns = c.phase_ns(Phase::kOptimizer);
  if (c.share(optimizer_ns) < kOfStep) return;
  LabelWork steps;
  uint64_t updates = 0;
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    const LabelId label{i};
    const std::string_view name = c.trace.string(c.trace.labels()[label].name);
    const LabelWork& work = c.work->of(label, Part::kRest);
    if (work.calls == 0) continue;
    if (name.starts_with("aten::_foreach_") || name.starts_with("aten::_fused_")) return;
    if (c.thread->role(label) == TrainingRole::kOptimizerStep && work.total_ns > steps.total_ns) {
      steps = work;
    }
    // What SGD, Adam and their like do to one parameter.
    if (name == "aten::addcmul_" || name == "aten::addcdiv_" || name == "aten::lerp_" ||
        name == "aten::add_" || name == "aten::mul_") {
      updates += work.calls;
    }
  }
  if (steps.calls == 0) return;
  const double per_step = static_cast<double>(updates) / static_cast<double>(steps.calls);
  if (per_step < kMinOperators) return;

  Finding finding;
  finding.id = "single-tensor-optimizer";
  const double share = c.share(steps.total_ns);
  finding.at_stake_fraction = share * (1 - kLeft);
  if (!DeviceUse::of(c)->empty()) {
    finding.at_stake_fraction = find_saved(c, kLeft, [&](LabelId label) {
      return c.thread->role(label) == TrainingRole::kOptimizerStep;
    });
  }
  finding.title =
      in_percent(share) + " of each step is the optimizer, which updates one parameter at a time";
  finding.figures = {
      {"optimizer per step", static_cast<double>(c.per_step(steps.total_ns)), Unit::kNs},
      {"small operators per step", per_step, Unit::kCount}};
  finding.slices = {steps.longest};
  finding.fix = "Let it update all parameters with one operator.";
  finding.code = "torch.optim.AdamW(model.parameters(), ..., fused=True)";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
