// dataloader-too-few-workers: the workers make batches more slowly than the training thread takes
// them, and there are cores for more of them.
#include <algorithm>

#include "advise/finding_text.h"
#include "advise/input_model.h"
#include "advise/rules.h"

namespace stepscope {

void check_dataloader_too_few_workers(const Case& c, Findings& found) {
  const InputWork& input = c.input;
  if (!c.has_steps() || input.is_in_process || input.workers == 0) return;
  const double wait_share = c.share(input.wait_ns);
  const InputModel model(c);
  if (wait_share < kWarningAtStake || input.workers >= model.cores()) return;
  // As many as make a batch in the time that a step computes, as far as there are cores.
  const uint32_t workers = model.cores();
  const int64_t new_step_ns = model.step_ns_with_workers(workers);

  Finding finding;
  finding.id = "dataloader-too-few-workers";
  finding.at_stake_fraction = model.saved(new_step_ns);
  finding.title = in_percent(wait_share) + " of each step waits for " +
                  std::to_string(input.workers) + " DataLoader worker" +
                  (input.workers == 1 ? "" : "s") + "; with " + std::to_string(workers) +
                  " the step falls " + times_less(model.step_ns(), new_step_ns);
  if (!input.functions.empty()) finding.where = c.place(input.functions.front().label);
  finding.figures = {{"step", static_cast<double>(model.step_ns()), Unit::kNs},
                     {"wait per step", static_cast<double>(c.per_step(input.wait_ns)), Unit::kNs},
                     {"a batch takes", static_cast<double>(input.mean_fetch_ns()), Unit::kNs},
                     {"workers", static_cast<double>(input.workers), Unit::kCount},
                     {"cores", static_cast<double>(model.cores()), Unit::kCount}};
  finding.slices = input.longest_waits;
  finding.fix = "Use more workers: there are cores for them.";
  finding.code = "DataLoader(dataset, ..., num_workers=" + std::to_string(workers) +
                 ", persistent_workers=True)";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
