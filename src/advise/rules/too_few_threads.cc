// too-few-threads: large operators run on fewer threads than there are cores.
#include <algorithm>

#include "advise/finding_text.h"
#include "advise/rules.h"

namespace stepscope {
namespace too_few_threads {

constexpr int64_t kLargeNs = 400'000;  // an operator that is worth dividing
constexpr double kOfStep = 0.3;        // in such operators
constexpr double kEfficiency = 0.75;   // of the cores that are added

}  // namespace too_few_threads

void check_too_few_threads(const Case& c, Findings& found) {
  using namespace too_few_threads;
  if (!c.has_steps() || !c.work || c.cpu.torch_threads < 1) return;
  const double threads = c.cpu.torch_threads;
  if (threads >= c.cpu.cores) return;
  // Workers keep the other cores busy.
  if (c.input.workers > 0) return;
  int64_t large_ns = 0;
  SliceId longest = kNoSlice;
  int64_t longest_ns = 0;
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    if (c.trace.labels()[LabelId{i}].kind != SliceKind::kOperator) continue;
    const LabelWork& work = c.work->of(LabelId{i}, Part::kRest);
    if (work.calls == 0 || work.self_ns / static_cast<int64_t>(work.calls) < kLargeNs) continue;
    large_ns += work.self_ns;
    if (work.longest_ns <= longest_ns) continue;
    longest_ns = work.longest_ns;
    longest = work.longest;
  }
  const double share = c.share(large_ns);
  if (share < kOfStep) return;
  const double speed_up = 1 + kEfficiency * (c.cpu.cores / threads - 1);
  const double saved = share * (1 - 1 / speed_up);

  Finding finding;
  finding.id = "too-few-threads";
  finding.at_stake_fraction = saved;
  const auto count = static_cast<int64_t>(threads);
  finding.title = in_percent(share) + " of each step is large operators that run on " +
                  std::to_string(count) + (count == 1 ? " thread" : " threads") + " of " +
                  std::to_string(c.cpu.cores) + " cores";
  finding.figures = {
      {"large operators per step", static_cast<double>(c.per_step(large_ns)), Unit::kNs},
      {"threads", threads, Unit::kCount},
      {"cores", static_cast<double>(c.cpu.cores), Unit::kCount}};
  finding.slices = {longest};
  finding.fix = "Let PyTorch use all cores: remove torch.set_num_threads() and OMP_NUM_THREADS.";
  finding.code = "torch.set_num_threads(" + std::to_string(c.cpu.cores) + ")";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
