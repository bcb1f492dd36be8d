// data-parallel: nn.DataParallel on several devices: one process feeds all of them, and sends the
// model to each in every step.
#include "advise/device_use.h"
#include "advise/finding_text.h"
#include "advise/host_time.h"
#include "advise/rules.h"

namespace stepscope {

void check_data_parallel(const Case& c, Findings& found) {
  const auto devices = DeviceUse::of(c);
  if (devices->devices.size() < 2 || !c.work) return;
  const HostTime forward = find_host_time(
      c, [&](const Label& label) { return c.trace.string(label.name) == "DataParallel.forward"; });
  if (forward.count == 0) return;
  // What only DataParallel does: parameters and batches to all devices, outputs and gradients back.
  const HostTime moving = find_host_time(c, [&](const Label& label) {
    const std::string_view name = c.trace.string(label.name);
    return name == "Broadcast" || name == "Scatter" || name == "Gather" ||
           name.starts_with("BroadcastBackward") || name.starts_with("GatherBackward");
  });

  Finding finding;
  finding.id = "data-parallel";
  finding.severity = Severity::kWarning;
  finding.at_stake_fraction = c.share(moving.ns);
  finding.title = "one process drives " + std::to_string(devices->devices.size()) +
                  " GPUs with DataParallel, which sends the model to each in every step";
  if (forward.has_function()) finding.where = c.place(forward.function);
  finding.figures = {{"GPUs", static_cast<double>(devices->devices.size()), Unit::kCount},
                     {"forward per step", static_cast<double>(c.per_step(forward.ns)), Unit::kNs},
                     {"sending per step", static_cast<double>(c.per_step(moving.ns)), Unit::kNs},
                     {"utilisation of the busiest", devices->utilisation(c), Unit::kFraction}};
  finding.slices = {forward.longest};
  finding.fix = "Use DistributedDataParallel: a process for each GPU.";
  finding.code =
      "model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])  # torchrun";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
