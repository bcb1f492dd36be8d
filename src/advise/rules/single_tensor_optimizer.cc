// single-tensor-optimizer: the optimizer updates parameter by parameter, with several small
// operators for each, where one fused operator would do for all.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "advise/device_what_if.h"
#include "advise/finding_text.h"
#include "advise/recording_cost.h"
#include "advise/rules.h"

namespace stepscope {
namespace single_tensor_optimizer {

// It is what everyone has on CPU: only where it takes much of a step is it a problem.
constexpr double kOfStep = 0.2;
constexpr uint64_t kMinOperators = 20;  // in one step() of the optimizer
constexpr double kLeftFused = 0.2;      // of the optimizer's time
constexpr double kLeftForeach = 0.6;

struct OptimizerWork {
  uint64_t steps = 0;
  int64_t ns = 0;  // without what recording it cost
  uint64_t operators = 0;
  bool is_of_many = false;  // operators on lists of tensors, or fused ones
  SliceId longest = kNoSlice;
};

// "Adam" of Optimizer.step#Adam.step
std::string_view class_of(std::string_view scope) {
  const size_t begin = scope.find('#');
  if (begin == scope.npos) return {};
  scope.remove_prefix(begin + 1);
  return scope.substr(0, scope.rfind('.'));
}

bool has_fused(std::string_view optimizer) {
  constexpr std::array<std::string_view, 3> kNames = {"Adam", "AdamW", "Adagrad"};
  return std::find(kNames.begin(), kNames.end(), optimizer) != kNames.end();
}

// Others may not know foreach; that is for their documentation to say.
bool is_of_torch(std::string_view optimizer) {
  constexpr std::array<std::string_view, 11> kNames = {"Adadelta", "Adagrad", "Adam",  "AdamW",
                                                       "Adamax",   "ASGD",    "NAdam", "RAdam",
                                                       "Rprop",    "RMSprop", "SGD"};
  return std::find(kNames.begin(), kNames.end(), optimizer) != kNames.end();
}

// One within another (TorchRec's CombinedOptimizer calls those that it holds) is by itself, and its
// time is not the other's: it is the one that can be made another way.
std::map<LabelId, OptimizerWork> find_optimizers(const Case& c) {
  struct Open {
    OptimizerWork* work;  // nullptr outside of the steps
    int64_t end_ns;
  };
  const SliceColumns& slices = c.trace.slices();
  const Track& track = c.trace.tracks()[index(*c.thread->track())];
  std::map<LabelId, OptimizerWork> optimizers;
  const RecordingCost cost(c.trace);
  std::vector<Open> open;
  int64_t operator_until_ns = INT64_MIN;
  for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
    const int64_t start_ns = slices.start_ns[row];
    const LabelId label = slices.label[row];
    while (!open.empty() && start_ns >= open.back().end_ns) open.pop_back();
    if (c.thread->role(label) == TrainingRole::kOptimizerStep) {
      OptimizerWork* work = c.times.contains(start_ns) ? &optimizers[label] : nullptr;
      if (!open.empty() && open.back().work != nullptr) open.back().work->ns -= slices.dur_ns[row];
      open.push_back({work, slices.end_ns(row)});
      if (work == nullptr) continue;
      ++work->steps;
      work->ns += slices.dur_ns[row];
      if (work->longest == kNoSlice || slices.dur_ns[row] > slices.dur_ns[index(work->longest)]) {
        work->longest = SliceId{row};
      }
      continue;
    }
    if (open.empty() || open.back().work == nullptr) continue;
    OptimizerWork& work = *open.back().work;
    const SliceKind kind = c.trace.labels()[label].kind;
    work.ns -= cost.of(kind);
    if (start_ns < operator_until_ns || kind != SliceKind::kOperator) continue;
    operator_until_ns = slices.end_ns(row);
    const std::string_view name = c.trace.slice_name(SliceId{row});
    ++work.operators;
    work.is_of_many |= name.starts_with("aten::_foreach_") || name.starts_with("aten::_fused_");
  }
  return optimizers;
}

}  // namespace single_tensor_optimizer

void check_single_tensor_optimizer(const Case& c, Findings& found) {
  using namespace single_tensor_optimizer;
  if (!c.has_steps() || !c.thread->track()) return;
  if (c.share(c.phase_ns(Phase::kOptimizer)) < kOfStep) return;
  const auto optimizers = find_optimizers(c);
  const auto most =
      std::max_element(optimizers.begin(), optimizers.end(),
                       [](const auto& a, const auto& b) { return a.second.ns < b.second.ns; });
  if (most == optimizers.end()) return;
  const OptimizerWork& work = most->second;
  const double share = c.share(work.ns);
  if (work.is_of_many || work.operators < kMinOperators * work.steps || share < kOfStep) return;
  const std::string_view name = class_of(c.trace.string(c.trace.labels()[most->first].name));
  if (name == "SGD") return;  // one or two operators per parameter: fused it is no faster on CPU

  Finding finding;
  finding.id = "single-tensor-optimizer";
  const bool is_fused = has_fused(name);
  const double left = is_fused ? kLeftFused : kLeftForeach;
  finding.at_stake_fraction = limit_to_saved(c, share * (1 - left), static_cast<float>(left),
                                             [&](LabelId label) { return label == most->first; });
  finding.title =
      in_percent(share) + " of each step is the optimizer, which updates one parameter at a time";
  finding.figures = {
      {"optimizer per step", static_cast<double>(c.per_step(work.ns)), Unit::kNs},
      {"operators per step()",
       static_cast<double>(work.operators) / static_cast<double>(work.steps), Unit::kCount}};
  finding.slices = {work.longest};
  finding.fix = is_fused ? "Let it update all parameters with one operator."
                         : "Let it update all parameters with operators on lists of tensors.";
  const std::string module = is_of_torch(name) ? "torch.optim." : "";
  finding.code = module + std::string(name.empty() ? "torch.optim.AdamW" : name) +
                 "(model.parameters(), ..., " + (is_fused ? "fused=True)" : "foreach=True)");
  found.push_back(std::move(finding));
}

}  // namespace stepscope
