// host-sync: the program asks for a value that a device has not computed yet: .item(), a condition
// on a tensor, nonzero(). The host waits, and the device then waits for the host's next launches.
#include <algorithm>
#include <array>
#include <string_view>

#include "advise/device_use.h"
#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/user_operators.h"

namespace stepscope {
namespace host_sync {

bool is_reading(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {
      "aten::item",    "aten::_local_scalar_dense", "aten::is_nonzero",
      "aten::nonzero", "aten::masked_select",       "aten::equal"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace host_sync

void check_host_sync(const Case& c, Findings& found) {
  using namespace host_sync;
  if (!c.has_steps() || DeviceUse::of(c)->empty()) return;
  const auto operators = UserOperators::of(c);
  OperatorSum reads(c);
  for (const UserOperator& op : operators->all()) {
    if (!is_reading(c.trace.slice_name(op.slice))) continue;
    reads.add(op, c.trace.slices().dur_ns[index(op.slice)]);
  }
  if (c.share(reads.ns()) < kLeastAtStake) return;
  const double saved = find_saved(c, 0, [&](LabelId label) {
    return is_reading(c.trace.string(c.trace.labels()[label].name));
  });
  if (saved < kLeastAtStake) return;

  Finding finding;
  finding.id = "host-sync";
  finding.at_stake_fraction = saved;
  finding.where = reads.where();
  finding.title = "in " + in_percent(c.share(reads.ns())) +
                  " of each step the host waits for values that it reads from the device, which "
                  "then waits for the host";
  finding.figures = {
      {"reads per step", static_cast<double>(reads.count()) / static_cast<double>(c.steps()),
       Unit::kCount},
      {"waiting per step", static_cast<double>(c.per_step(reads.ns())), Unit::kNs}};
  finding.slices = {reads.longest()};
  finding.fix =
      "Keep the values on the device: add losses up there, log every 100 steps, and use "
      "torch.where in place of a condition.";
  finding.code = "total += loss.detach()        # no loss.item() in each step";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
