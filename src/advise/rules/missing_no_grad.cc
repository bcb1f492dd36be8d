// missing-no-grad: autograd records a model's forward pass in vain. Either no backward pass goes
// through it, or one does and makes gradients that nobody zeroes, so that no optimizer has them.
#include <map>
#include <string>
#include <vector>

#include "advise/finding_text.h"
#include "advise/model_calls.h"
#include "advise/rules.h"

namespace stepscope {
namespace missing_no_grad {

// Of a forward pass: nodes of the graph, and results that are kept until its end. It differs much:
// of whole steps on CPU, no_grad around the teacher saved 1 to 5 % with a transformer, 8 to 25 %
// with a perceptron and 28 % with convolutions. This is on the careful side.
constexpr double kBookkeeping = 0.07;

struct InVain {
  uint64_t calls = 0;
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  SliceId longest = kNoSlice;

  int64_t saved_ns() const {
    return backward_ns + static_cast<int64_t>(kBookkeeping * static_cast<double>(forward_ns));
  }
};

bool is_unused(const ModelCall& call) {
  return call.is_recorded() && call.used_nodes == 0 && !call.is_in_backward;
}

// Nothing before it in the step leads to it: its input needs no gradient.
bool is_frozen(const ModelCalls& calls, const ModelCall& call) {
  return call.used_nodes > 0 && call.added_gradients > 0 && call.new_gradients == 0 &&
         call.step != ModelCall::kNone &&
         call.first_used_number == calls.first_used_number(call.step);
}

std::string place_of(const Case& c, const ModelCall& call) {
  return call.user_call == kNoSlice ? std::string()
                                    : c.place(c.trace.slices().label[index(call.user_call)]);
}

}  // namespace missing_no_grad

void check_missing_no_grad(const Case& c, Findings& found) {
  using namespace missing_no_grad;
  if (!c.thread->has(TrainingRole::kForward)) return;
  const auto calls = ModelCalls::of(c);
  if (!calls->has_backward() || !calls->has_numbers()) return;
  // Steps in which other gradients were dropped before backward: zero_grad does not fill them.
  std::vector<bool> has_new_gradients(c.steps());
  for (const ModelCall& call : calls->all()) {
    if (call.step != ModelCall::kNone && call.new_gradients > 0)
      has_new_gradients[call.step] = true;
  }

  // Those in steps are of the steps' time, those elsewhere of the whole program's.
  std::map<std::string, InVain> in_steps, elsewhere;
  std::vector<bool> is_counted(calls->all().size());
  const SliceColumns& slices = c.trace.slices();
  for (size_t i = 0; i < calls->all().size(); ++i) {
    const ModelCall& call = calls->all()[i];
    if (call.parent != ModelCall::kNone && is_counted[call.parent]) {
      is_counted[i] = true;
      continue;
    }
    const bool is_backward_in_vain = is_frozen(*calls, call) && has_new_gradients[call.step];
    if (!is_unused(call) && !is_backward_in_vain) continue;
    is_counted[i] = true;
    const bool is_in_step = call.step != ModelCall::kNone;
    if (!is_in_step && !c.has_steps()) continue;
    InVain& in_vain = (is_in_step ? in_steps : elsewhere)[place_of(c, call)];
    ++in_vain.calls;
    in_vain.forward_ns += slices.dur_ns[index(call.slice)];
    in_vain.backward_ns += call.backward_ns;
    if (in_vain.longest == kNoSlice ||
        slices.dur_ns[index(call.slice)] > slices.dur_ns[index(in_vain.longest)]) {
      in_vain.longest = call.slice;
    }
  }

  const int64_t whole_ns =
      c.trace.end_ns() - c.trace.begin_ns() - (c.has_steps() ? c.steady.start_up_ns : 0);
  const std::string* where = nullptr;
  const InVain* worst = nullptr;
  double share = 0;
  bool is_worst_in_steps = true;
  for (const auto* places : {&in_steps, &elsewhere}) {
    for (const auto& [place, in_vain] : *places) {
      const bool is_in_steps = places == &in_steps;
      const double of_time = is_in_steps ? c.share(in_vain.saved_ns())
                                         : static_cast<double>(in_vain.saved_ns()) /
                                               static_cast<double>(std::max<int64_t>(1, whole_ns));
      if (of_time <= share) continue;
      share = of_time;
      where = &place;
      worst = &in_vain;
      is_worst_in_steps = is_in_steps;
    }
  }
  if (worst == nullptr || share < kLeastAtStake) return;

  Finding finding;
  finding.id = "missing-no-grad";
  finding.at_stake_fraction = share;
  finding.where = *where;
  const std::string of = is_worst_in_steps ? " of each step" : " of the time";
  finding.title =
      worst->backward_ns > 0
          ? in_percent(share) + of + " goes to gradients of a model that no optimizer updates"
          : in_percent(share) + of +
                " records forward passes for autograd that no backward pass uses";
  finding.figures = {
      {"calls of the model", static_cast<double>(worst->calls), Unit::kCount},
      {"forward", static_cast<double>(worst->forward_ns) / static_cast<double>(worst->calls),
       Unit::kNs},
      {"backward in vain",
       static_cast<double>(worst->backward_ns) / static_cast<double>(worst->calls), Unit::kNs}};
  finding.slices = {worst->longest};
  finding.fix = "Call the model under no_grad where no gradient of it is wanted.";
  finding.code = "with torch.no_grad():\n    target = teacher(x)";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
