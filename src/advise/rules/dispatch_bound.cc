// dispatch-bound: one function calls very many operators that are each too small to be worth the
// calling, in a loop that a few operators on larger tensors could take the place of.
#include <algorithm>

#include "advise/finding_text.h"
#include "advise/rules.h"

namespace stepscope {
namespace {

constexpr uint64_t kOperatorsPerCall = 100;
constexpr int64_t kSmallNs = 15'000;  // an operator, with the Python around it
constexpr double kOfStep = 0.2;
constexpr double kLeft = 0.15;

}  // namespace

void check_dispatch_bound(const Case& c, Findings& found) {
  if (!c.has_steps() || !c.work) return;
  uint64_t all_operators = 0;
  const FunctionWork* busiest = nullptr;
  for (const FunctionWork& function : c.work->functions(Part::kRest)) {
    all_operators += function.operators;
    if (busiest == nullptr || function.operators > busiest->operators) busiest = &function;
  }
  if (busiest == nullptr || busiest->operators == 0) return;
  const uint64_t calls = std::max(busiest->calls, c.steps());
  const auto operators = static_cast<int64_t>(busiest->operators);
  if (busiest->operators / calls < kOperatorsPerCall || busiest->own_ns / operators > kSmallNs) {
    return;
  }
  // Its operators have backward nodes of their own.
  const double of_operators =
      static_cast<double>(busiest->operators) / static_cast<double>(all_operators);
  const auto backward_ns =
      static_cast<int64_t>(of_operators * static_cast<double>(c.phase_ns(Phase::kBackward)));
  const double share =
      std::min(1.0, c.share(busiest->own_ns) +
                        c.share(backward_ns) / (c.share(busiest->own_ns) > 0.5 ? 2 : 1));
  if (share < kOfStep) return;

  Finding finding;
  finding.id = "dispatch-bound";
  finding.at_stake_fraction = std::min(0.95, share) * (1 - kLeft);
  finding.where = c.place(busiest->label);
  finding.title = in_percent(share) + " of each step goes into " +
                  std::to_string(busiest->operators / c.steps()) + " tiny operators called in " +
                  finding.where;
  finding.figures = {
      {"per step", static_cast<double>(c.per_step(busiest->own_ns)), Unit::kNs},
      {"an operator", static_cast<double>(busiest->own_ns / operators), Unit::kNs},
      {"operators per step",
       static_cast<double>(busiest->operators) / static_cast<double>(c.steps()), Unit::kCount}};
  finding.slices = {busiest->longest};
  finding.fix =
      "Put the small tensors together and call one operator on all of them, or let torch.compile "
      "fuse the calls.";
  finding.includes.emplace_back("python-hotspot");
  found.push_back(std::move(finding));
}

}  // namespace stepscope
