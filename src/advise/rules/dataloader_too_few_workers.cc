// dataloader-too-few-workers: the workers make batches more slowly than the training thread takes
// them, and there are cores for more of them as far as is known.
#include "advise/device_use.h"
#include "advise/finding_text.h"
#include "advise/input_model.h"
#include "advise/rules.h"

namespace stepscope {

void check_dataloader_too_few_workers(const Case& c, Findings& found) {
  const InputWork& input = c.input;
  if (!c.has_steps() || input.is_in_process || !input.has_workers) return;
  const auto devices = DeviceUse::of(c);
  const int64_t wait_ns = devices->empty() ? input.wait_ns : devices->input_wait_ns;
  const double wait_share = c.share(wait_ns);
  if (wait_share < kWarningAtStake) return;
  const InputModel model(c);
  if (input.workers >= model.cores()) return;
  const bool knows_workers = input.workers > 0;
  // As many as make a batch in the time that a step computes, as far as there are cores.
  const uint32_t workers = model.cores();
  const int64_t new_step_ns = model.step_ns_with_workers(workers);

  Finding finding;
  finding.id = "dataloader-too-few-workers";
  finding.at_stake_fraction = model.saved(new_step_ns);
  finding.title = in_percent(wait_share) + " of each step waits for ";
  finding.title += knows_workers
                       ? std::to_string(input.workers) + " DataLoader worker" +
                             (input.workers == 1 ? "" : "s") + "; with " + std::to_string(workers)
                       : "the DataLoader's workers; if they kept up";
  finding.title += " the step falls " + times_less(model.step_ns(), new_step_ns);
  if (!input.functions.empty()) finding.where = c.place(input.functions.front().label);
  finding.figures = {{"step", static_cast<double>(model.step_ns()), Unit::kNs},
                     {"wait per step", static_cast<double>(c.per_step(wait_ns)), Unit::kNs},
                     {"input", wait_share, Unit::kFraction}};
  if (knows_workers) {
    finding.figures.push_back(
        {"a batch takes", static_cast<double>(input.mean_fetch_ns()), Unit::kNs});
    finding.figures.push_back({"workers", static_cast<double>(input.workers), Unit::kCount});
  }
  if (model.knows_cores()) {
    finding.figures.push_back({"cores", static_cast<double>(model.cores()), Unit::kCount});
  }
  finding.slices = input.longest_waits;
  finding.fix = model.knows_cores()
                    ? "Use more workers: there are cores for them."
                    : "Use more workers, as far as there are cores; or make an item cheaper.";
  finding.code = "DataLoader(dataset, ..., num_workers=" +
                 (model.knows_cores() ? std::to_string(workers) : std::string("os.cpu_count()")) +
                 ", persistent_workers=True)";
  if (is_idle_for_input(c, *devices)) finding.includes.emplace_back("gpu-idle");
  found.push_back(std::move(finding));
}

}  // namespace stepscope
