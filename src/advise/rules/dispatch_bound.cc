// dispatch-bound: functions call very many operators that are each too small to be worth the
// calling, again and again, where a few operators on larger tensors could take their place.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "advise/finding_text.h"
#include "advise/rules.h"
#include "advise/user_operators.h"

namespace stepscope {
namespace dispatch_bound {

constexpr double kPerStep = 64;        // operators of a function
constexpr double kRepeats = 16;        // calls of one thing in a call, or of it in a step: a loop
constexpr int64_t kSmallNs = 50'000;   // an operator, with the Python around it
constexpr int64_t kPythonNs = 60'000;  // more between two operators is no part of calling them
constexpr double kOfStep = 0.25;
constexpr double kLeft = 0.05;

struct Calls {
  uint64_t operators = 0;
  uint64_t pieces = 0;  // operators, and what is in those of them that are many themselves
  int64_t ns = 0;
  int64_t backward_ns = 0;
};

// By the label of the function that calls them.
using CallsByFunction = std::unordered_map<uint32_t, Calls>;

bool is_forward(const UserOperator& op) {
  return !op.is_backward && op.call != kNoSlice && op.part == Part::kRest;
}

// A cell of a recurrent network (aten::gru_cell, aten::lstm_cell) is about ten operators itself.
uint64_t count_of(std::string_view name) { return name.ends_with("_cell") ? 10 : 1; }

CallsByFunction count_calls(const Case& c, const UserOperators& operators) {
  const SliceColumns& slices = c.trace.slices();
  CallsByFunction found;
  const auto all = operators.all();
  for (size_t i = 0; i < all.size(); ++i) {
    if (!is_forward(all[i])) continue;
    Calls& calls = found[index(slices.label[index(all[i].call)])];
    ++calls.operators;
    calls.pieces += count_of(c.trace.slice_name(all[i].slice));
    const uint32_t row = index(all[i].slice);
    int64_t ns = slices.dur_ns[row];
    if (i + 1 < all.size() && all[i + 1].step == all[i].step && !all[i + 1].is_backward) {
      const int64_t until_next_ns = slices.start_ns[index(all[i + 1].slice)] - slices.start_ns[row];
      if (until_next_ns < ns + kPythonNs) ns = until_next_ns;
    }
    calls.ns += ns;
  }
  return found;
}

// Leaves those whose operators are many, tiny and repeated.
void keep_loops(const Case& c, CallsByFunction& found) {
  const auto steps = static_cast<double>(c.steps());
  std::erase_if(found, [&](const auto& entry) {
    const Calls& made = entry.second;
    if (static_cast<double>(made.pieces) < kPerStep * steps) return true;
    if (made.ns > kSmallNs * static_cast<int64_t>(made.pieces)) return true;
    const FunctionWork* function = c.work->find(LabelId{entry.first}, Part::kRest);
    if (function == nullptr) return true;
    const auto calls = static_cast<double>(std::max(function->calls, c.steps()));
    return static_cast<double>(function->repeats) < kRepeats * calls &&
           static_cast<double>(function->entries) < kRepeats * steps;
  });
}

// Operators have backward nodes of their own.
void add_backward(const Case& c, const UserOperators& operators, CallsByFunction& found) {
  const SliceColumns& slices = c.trace.slices();
  for (const UserOperator& op : operators.all()) {
    if (!is_forward(op)) continue;
    const auto calls = found.find(index(slices.label[index(op.call)]));
    if (calls == found.end()) continue;
    calls->second.backward_ns +=
        operators.backward_ns(c.trace, op.slice, UserOperators::end_of(c.trace, op.slice));
  }
}

}  // namespace dispatch_bound

void check_dispatch_bound(const Case& c, Findings& found) {
  using namespace dispatch_bound;
  if (!c.has_steps() || !c.work) return;
  const auto operators = UserOperators::of(c);
  CallsByFunction by_function = count_calls(c, *operators);
  keep_loops(c, by_function);
  if (by_function.empty()) return;
  add_backward(c, *operators, by_function);
  Calls sum;
  const CallsByFunction::value_type* most = nullptr;
  for (const auto& entry : by_function) {
    sum.operators += entry.second.operators;
    sum.ns += entry.second.ns;
    sum.backward_ns += entry.second.backward_ns;
    if (most == nullptr || entry.second.ns > most->second.ns) most = &entry;
  }
  // Of the time with the recording, which costs these operators as much as the others.
  const double share = std::min(1.0, static_cast<double>(sum.ns + sum.backward_ns) /
                                         static_cast<double>(std::max<int64_t>(1, c.recorded_ns)));
  if (share < kOfStep) return;

  const LabelId function{most->first};
  Finding finding;
  finding.id = "dispatch-bound";
  finding.at_stake_fraction = share * (1 - kLeft);
  finding.where = c.place(function);
  finding.title = in_percent(share) + " of each step goes into " +
                  std::to_string(sum.operators / c.steps()) + " small operators called in " +
                  finding.where;
  finding.figures = {
      {"forward per step", static_cast<double>(c.per_step(sum.ns)), Unit::kNs},
      {"their backward per step", static_cast<double>(c.per_step(sum.backward_ns)), Unit::kNs},
      {"an operator", static_cast<double>(sum.ns / static_cast<int64_t>(sum.operators)), Unit::kNs},
      {"operators per step", static_cast<double>(sum.operators) / static_cast<double>(c.steps()),
       Unit::kCount}};
  finding.slices = {c.work->of(function).longest};
  finding.fix =
      "Put the small tensors together and call one operator on all of them, or let torch.compile "
      "fuse the calls.";
  finding.includes.emplace_back("python-hotspot");
  found.push_back(std::move(finding));
}

}  // namespace stepscope
