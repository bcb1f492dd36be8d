// input-copy: a batch is converted on the training thread in each step, to another type or another
// layout, before the model gets it. (Copies to a device are memcpy-bound's.)
#include <string_view>

#include "advise/device_use.h"
#include "advise/finding_text.h"
#include "advise/model_calls.h"
#include "advise/rules.h"
#include "advise/user_operators.h"

namespace stepscope {
namespace input_copy {

constexpr int64_t kLeastNs = 10'000;  // less copied nothing, or next to nothing

}  // namespace input_copy

void check_input_copy(const Case& c, Findings& found) {
  using namespace input_copy;
  if (!c.has_steps() || !DeviceUse::of(c)->empty()) return;
  const auto operators = UserOperators::of(c);
  const auto calls = ModelCalls::of(c);
  const SliceColumns& slices = c.trace.slices();
  OperatorSum copies(c);
  for (const UserOperator& op : operators->all()) {
    const uint32_t row = index(op.slice);
    if (op.is_backward || op.part == Part::kInput || slices.dur_ns[row] < kLeastNs) continue;
    if (!calls->is_before_model(op.step, slices.start_ns[row])) continue;
    const std::string_view name = c.trace.slice_name(op.slice);
    if (is_copying_operator(name) || name == "aten::copy_") copies.add(op, slices.dur_ns[row]);
  }
  const double share = c.share(copies.ns());
  if (share < kLeastAtStake) return;

  Finding finding;
  finding.id = "input-copy";
  finding.at_stake_fraction = share;
  finding.where = copies.where();
  finding.title =
      in_percent(share) + " of each step converts the batch to the type and layout of the model";
  finding.figures = {
      {"copies per step", static_cast<double>(copies.count()) / static_cast<double>(c.steps()),
       Unit::kCount},
      {"per step", static_cast<double>(c.per_step(copies.ns())), Unit::kNs}};
  finding.slices = {copies.longest()};
  finding.fix =
      "Keep the data as the model wants it, or convert it in the Dataset, where workers can do it.";
  finding.code = "pictures = pictures.permute(0, 3, 1, 2).contiguous().float()   # once";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
