// duplicate-forward: a model that a step has already called is called again, for metrics alone: the
// same operators, through which no backward pass goes, and whose result is only looked at.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "advise/finding_text.h"
#include "advise/model_calls.h"
#include "advise/rules.h"
#include "advise/user_operators.h"

namespace stepscope {
namespace duplicate_forward {

constexpr double kOfSteps = 0.5;  // of the steps have one: rarer is an evaluation

// Reads of a result by the program, and comparisons with labels.
bool is_metric(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"aten::item", "aten::eq", "aten::topk",
                                                      "aten::_local_scalar_dense"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// What the step does after a call: goes backward later on; or looks at the result before it calls
// another model.
struct Afterwards {
  bool has_backward = false;
  bool has_metric = false;
};

Afterwards find_afterwards(const Case& c, const UserOperators& operators, const ModelCall& call,
                           int64_t next_call_ns) {
  const SliceColumns& slices = c.trace.slices();
  const int64_t end_ns = slices.end_ns(index(call.slice));
  const auto all = operators.all();
  Afterwards afterwards;
  auto at = std::partition_point(all.begin(), all.end(), [&](const UserOperator& op) {
    return slices.start_ns[index(op.slice)] < end_ns;
  });
  for (; at != all.end() && at->step == call.step; ++at) {
    if (c.thread->role(slices.label[index(at->slice)]) == TrainingRole::kBackwardNode) {
      afterwards.has_backward = true;
      break;
    }
    if (slices.start_ns[index(at->slice)] < next_call_ns && !at->is_backward) {
      afterwards.has_metric |= is_metric(c.trace.slice_name(at->slice));
    }
  }
  return afterwards;
}

}  // namespace duplicate_forward

void check_duplicate_forward(const Case& c, Findings& found) {
  using namespace duplicate_forward;
  if (!c.has_steps() || !c.thread->has(TrainingRole::kForward)) return;
  const auto calls = ModelCalls::of(c);
  if (!calls->has_backward()) return;
  const SliceColumns& slices = c.trace.slices();
  std::vector<const ModelCall*> outermost;
  std::set<std::pair<uint32_t, uint64_t>> used;  // step, operators
  for (const ModelCall& call : calls->all()) {
    if (call.parent != ModelCall::kNone || call.step == ModelCall::kNone || call.is_in_backward) {
      continue;
    }
    outermost.push_back(&call);
    if (call.used_nodes > 0) used.emplace(call.step, call.operators_hash);
  }
  std::shared_ptr<const UserOperators> operators;
  std::set<uint32_t> steps;
  uint64_t again = 0;
  int64_t again_ns = 0;
  const ModelCall* longest = nullptr;
  for (size_t i = 0; i < outermost.size(); ++i) {
    const ModelCall& call = *outermost[i];
    if (call.used_nodes > 0 || call.operators < 2) continue;
    if (!used.contains({call.step, call.operators_hash})) continue;
    if (operators == nullptr) operators = UserOperators::of(c);
    // A loss is a module too: what follows a call is up to the next of a model.
    size_t next = i + 1;
    while (next < outermost.size() && outermost[next]->operators_hash != call.operators_hash)
      ++next;
    const int64_t next_call_ns =
        next < outermost.size() ? slices.start_ns[index(outermost[next]->slice)] : INT64_MAX;
    const Afterwards afterwards = find_afterwards(c, *operators, call, next_call_ns);
    if (afterwards.has_backward && !afterwards.has_metric) continue;  // a target for the loss
    steps.insert(call.step);
    ++again;
    again_ns += slices.dur_ns[index(call.slice)];
    if (longest == nullptr ||
        slices.dur_ns[index(call.slice)] > slices.dur_ns[index(longest->slice)]) {
      longest = &call;
    }
  }
  const double share = c.share(again_ns);
  if (longest == nullptr || share < kLeastAtStake) return;
  if (static_cast<double>(steps.size()) < kOfSteps * static_cast<double>(c.steps())) return;

  Finding finding;
  finding.id = "duplicate-forward";
  finding.at_stake_fraction = share;
  if (longest->user_call != kNoSlice) {
    finding.where = c.place(slices.label[index(longest->user_call)]);
  }
  finding.title =
      "the model is called again for what it has computed already; the second call is " +
      in_percent(share) + " of each step";
  finding.figures = {
      {"calls that backward does not use, per step",
       static_cast<double>(again) / static_cast<double>(c.steps()), Unit::kNone},
      {"a call", static_cast<double>(again_ns) / static_cast<double>(again), Unit::kNs}};
  finding.slices = {longest->slice};
  finding.fix = "Keep the output of the first call, and use it for the metrics too.";
  finding.code =
      "output = model(x)\nloss = criterion(output, y)\naccuracy = (output.detach().argmax(1) == "
      "y).float().mean()";
  finding.includes.emplace_back("missing-no-grad");
  found.push_back(std::move(finding));
}

}  // namespace stepscope
