// ddp-without-nccl: DistributedDataParallel on GPUs over a backend that takes gradients through the
// host.
#include <algorithm>
#include <string>
#include <string_view>

#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/rules.h"
#include "analyze/json_field.h"
#include "analyze/operator_rules.h"

namespace stepscope {
namespace ddp_without_nccl {

// Of "cpu:gloo,cuda:nccl" or "gloo": whether any sends from device to device. Those of other makers
// do (hccl, xccl, rccl): only these go through the host.
bool has_backend_of_devices(std::string_view backends) {
  while (!backends.empty()) {
    std::string_view one = backends.substr(0, backends.find(','));
    backends.remove_prefix(std::min(one.size() + 1, backends.size()));
    one.remove_prefix(one.find(':') == one.npos ? 0 : one.find(':') + 1);
    if (one != "gloo" && one != "mpi") return true;
  }
  return false;
}

// "gloo", or "" where the trace does not say.
std::string find_backend(const Case& c) {
  const std::string_view distributed = c.trace.find_metadata("distributedInfo");
  if (const auto backend = find_json_field(distributed, "$.backend")) return *backend;
  bool has_gloo = false;
  for (const Label& label : c.trace.labels().all()) {
    const std::string_view name = c.trace.string(label.name);
    if (name.starts_with("nccl")) return "nccl";
    if (!is_communication_scope(name)) continue;
    const std::string_view backend = name.substr(0, name.find(':'));
    if (has_backend_of_devices(backend)) return std::string(backend);
    has_gloo |= backend == "gloo";
  }
  return has_gloo ? "gloo" : "";
}

bool uses_ddp(const Case& c) {
  for (const Label& label : c.trace.labels().all()) {
    if (c.trace.string(label.name) == "DistributedDataParallel.forward") return true;
  }
  return false;
}

}  // namespace ddp_without_nccl

void check_ddp_without_nccl(const Case& c, Findings& found) {
  using namespace ddp_without_nccl;
  if (DeviceUse::of(c)->empty() || !uses_ddp(c)) return;
  const std::string backend = find_backend(c);
  if (backend.empty() || has_backend_of_devices(backend)) return;

  Finding finding;
  finding.id = "ddp-without-nccl";
  finding.severity = Severity::kWarning;
  const double share = c.share(c.phase_ns(Phase::kCommunication));
  finding.at_stake_fraction = share;
  finding.title = "DistributedDataParallel sends the gradients of GPUs over " + backend +
                  ", through the host's memory; " + in_percent(share) +
                  " of each step is communication";
  finding.figures = {
      {"communication per step", static_cast<double>(c.per_step(c.phase_ns(Phase::kCommunication))),
       Unit::kNs},
      {"communication", share, Unit::kFraction}};
  finding.fix = "Use NCCL, which sends from GPU to GPU.";
  finding.code = "torch.distributed.init_process_group(\"nccl\")";
  finding.includes = {"communication-bound"};
  found.push_back(std::move(finding));
}

}  // namespace stepscope
