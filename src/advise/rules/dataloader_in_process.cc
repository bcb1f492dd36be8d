// dataloader-in-process: the training thread makes its batches itself, and does nothing else
// meanwhile. Where devices compute, only the time counts in which they have nothing left to do.
#include "advise/device_use.h"
#include "advise/finding_text.h"
#include "advise/input_model.h"
#include "advise/rules.h"

namespace stepscope {

void check_dataloader_in_process(const Case& c, Findings& found) {
  const InputWork& input = c.input;
  if (!c.has_steps() || !input.is_in_process) return;
  const auto devices = DeviceUse::of(c);
  const int64_t wait_ns = devices->empty() ? input.wait_ns : devices->input_wait_ns;
  const double wait_share = c.share(wait_ns);
  if (wait_share < kWarningAtStake) return;
  const InputModel model(c);
  const uint32_t workers = model.useful_workers();
  const int64_t new_step_ns = model.step_ns_with_workers(workers);

  Finding finding;
  finding.id = "dataloader-in-process";
  finding.at_stake_fraction = model.saved(new_step_ns);
  finding.title = in_percent(wait_share) +
                  " of each step waits for the DataLoader, which works in " +
                  "the training process; with " + std::to_string(workers) +
                  (workers == 1 ? " worker" : " workers") + " the step falls " +
                  times_less(model.step_ns(), new_step_ns);
  if (!input.functions.empty()) finding.where = c.place(input.functions.front().label);
  finding.figures = {{"step", static_cast<double>(model.step_ns()), Unit::kNs},
                     {"input per step", static_cast<double>(c.per_step(wait_ns)), Unit::kNs},
                     {"input", wait_share, Unit::kFraction},
                     {"step with workers", static_cast<double>(new_step_ns), Unit::kNs}};
  if (model.knows_cores()) {
    finding.figures.push_back({"cores", static_cast<double>(model.cores()), Unit::kCount});
  }
  if (is_idle_for_input(c, *devices)) finding.includes.emplace_back("gpu-idle");
  finding.slices = input.longest_waits;
  finding.fix = "Let worker processes make the batches while the model computes.";
  finding.code = "DataLoader(dataset, ..., num_workers=" + std::to_string(workers) +
                 ", persistent_workers=True)";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
