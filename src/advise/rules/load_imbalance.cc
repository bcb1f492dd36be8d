// load-imbalance: in each step some rank has more to do than the others, not always the same one.
#include <algorithm>
#include <cmath>

#include "advise/finding_text.h"
#include "advise/job_rules.h"

namespace stepscope {
namespace load_imbalance {

constexpr double kOfStep = 0.05;

}  // namespace load_imbalance

void check_load_imbalance(const Job& job, Findings& found) {
  using namespace load_imbalance;
  const LoadImbalance& imbalance = job.imbalance;
  if (imbalance.step_ns <= 0 || imbalance.loss_ns < kOfStep * imbalance.step_ns) return;
  Finding finding;
  finding.id = "load-imbalance";
  finding.at_stake_fraction = std::min(1.0, imbalance.loss_ns / imbalance.step_ns);
  const std::string where = imbalance.where.empty() ? "work" : imbalance.where;
  finding.title = "the slowest rank of a step takes " + in_time(std::llround(imbalance.loss_ns)) +
                  " longer than the mean (" + where + "), and all others wait for it";
  finding.figures = {{"slowest less mean, per step", imbalance.loss_ns, Unit::kNs},
                     {"of the step", finding.at_stake_fraction, Unit::kFraction},
                     {"step", imbalance.step_ns, Unit::kNs}};
  finding.fix = imbalance.where == "input"
                    ? "Even out what ranks read: files and samples of like cost for each, more "
                      "prefetching, so that a slow batch is ready in time."
                    : "Even out what ranks compute: batches of like size (sort or pack samples by "
                      "length, count tokens and not samples), layers of like cost per stage.";
  found.push_back(std::move(finding));
}

}  // namespace stepscope
