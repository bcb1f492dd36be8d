// input-copy: a batch is converted on the training thread in each step, to another type or another
// layout, before the model gets it. (Copies to a device are memcpy-bound's.)
#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "advise/device_use.h"
#include "advise/finding_text.h"
#include "advise/model_calls.h"
#include "advise/rules.h"
#include "advise/user_operators.h"

namespace stepscope {
namespace {

constexpr int64_t kLeastNs = 10'000;  // less copied nothing, or next to nothing

bool is_copying(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"aten::clone",   "aten::contiguous",
                                                      "aten::to",      "aten::_to_copy",
                                                      "aten::reshape", "aten::copy_"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

void check_input_copy(const Case& c, Findings& found) {
  if (!c.has_steps() || !DeviceUse::of(c)->empty()) return;
  const auto operators = UserOperators::of(c);
  const auto calls = ModelCalls::of(c);
  const SliceColumns& slices = c.trace.slices();
  int64_t ns = 0;
  uint64_t copies = 0;
  SliceId longest = kNoSlice;
  std::map<LabelId, int64_t> by_function;
  for (const UserOperator& op : operators->all()) {
    if (op.is_backward || op.part == Part::kInput) continue;
    const uint32_t row = index(op.slice);
    if (slices.dur_ns[row] < kLeastNs || !calls->is_before_model(op.step, slices.start_ns[row]) ||
        !is_copying(c.trace.slice_name(op.slice))) {
      continue;
    }
    ns += slices.dur_ns[row];
    ++copies;
    if (longest == kNoSlice || slices.dur_ns[row] > slices.dur_ns[index(longest)]) {
      longest = op.slice;
    }
    if (op.call != kNoSlice) by_function[slices.label[index(op.call)]] += slices.dur_ns[row];
  }
  const double share = c.share(ns);
  if (share < kLeastAtStake) return;

  Finding finding;
  finding.id = "input-copy";
  finding.at_stake_fraction = share;
  const auto most =
      std::max_element(by_function.begin(), by_function.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != by_function.end()) finding.where = c.place(most->first);
  finding.title =
      in_percent(share) + " of each step converts the batch to the type and layout of the model";
  finding.figures = {{"copies per step",
                      static_cast<double>(copies) / static_cast<double>(c.steps()), Unit::kCount},
                     {"per step", static_cast<double>(c.per_step(ns)), Unit::kNs}};
  finding.slices = {longest};
  finding.fix =
      "Keep the data as the model wants it, or convert it in the Dataset, where workers can do it.";
  finding.code = "pictures = pictures.permute(0, 3, 1, 2).contiguous().float()   # once";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
