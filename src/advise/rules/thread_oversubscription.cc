// thread-oversubscription: PyTorch divides operators among more threads than there are cores.
#include <algorithm>

#include "advise/finding_text.h"
#include "advise/rules.h"

namespace stepscope {
namespace thread_oversubscription {

constexpr double kTooMany = 1.5;  // times the cores
constexpr double kOfStep = 0.3;   // in operators
// Of the time in operators: what threads cost that wait for each other. Measured with 16 threads on
// 2 cores.
constexpr double kAtStake = 0.65;

}  // namespace thread_oversubscription

void check_thread_oversubscription(const Case& c, Findings& found) {
  using namespace thread_oversubscription;
  if (!c.has_steps() || !c.work || c.cpu.cores == 0) return;
  if (c.cpu.torch_threads < kTooMany * c.cpu.cores) return;
  int64_t operators_ns = 0;
  for (uint32_t i = 0; i < c.trace.labels().size(); ++i) {
    if (c.trace.labels()[LabelId{i}].kind == SliceKind::kOperator) {
      operators_ns += c.work->of(LabelId{i}, Part::kRest).self_ns;
    }
  }
  const double share = std::min(1.0, c.share(operators_ns));
  if (share < kOfStep) return;
  Finding finding;
  finding.id = "thread-oversubscription";
  finding.at_stake_fraction = share * kAtStake;
  finding.title = "PyTorch uses " + std::to_string(static_cast<int64_t>(c.cpu.torch_threads)) +
                  " threads on " + std::to_string(c.cpu.cores) +
                  " cores: they wait for each other in " + in_percent(share) + " of each step";
  finding.figures = {{"threads", c.cpu.torch_threads, Unit::kCount},
                     {"cores", static_cast<double>(c.cpu.cores), Unit::kCount}};
  finding.fix = "Use as many threads as there are cores, or fewer.";
  finding.code = "torch.set_num_threads(" + std::to_string(c.cpu.cores) + ")";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
