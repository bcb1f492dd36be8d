// straggler-rank: one rank is slower than the others, which wait for it in every collective.
#include <algorithm>
#include <cmath>

#include "advise/finding_text.h"
#include "advise/job_rules.h"

namespace stepscope {
namespace straggler_rank {

std::string advise_on(const JobRank& rank) {
  const std::string who = "rank " + std::to_string(rank.summary.rank);
  switch (rank.cause) {
    case StragglerCause::kInput:
      return "Look at the input of " + who +
             ": its storage, its share of the data, its workers (stepscope report " +
             rank.summary.source + " --view findings).";
    case StragglerCause::kSlowKernel:
      return "Compare these kernels with another rank's: shapes and data types that differ, "
             "another "
             "library version, another program on the device.";
    case StragglerCause::kMoreWork:
      return "Give " + who +
             " as much work as the others: layers, samples or tokens are spread "
             "unevenly, or it does something that they do not.";
    case StragglerCause::kThrottling:
      return "Look at the machine of " + who +
             ": clocks, temperature and power limits (nvidia-smi -q -d PERFORMANCE,CLOCK), or "
             "another program on the same device.";
    case StragglerCause::kCopies:
      return "Look at what " + who + " copies: pinned memory, its place in the machine (NUMA).";
    case StragglerCause::kHost:
    case StragglerCause::kNone:
      break;
  }
  return "Look at the host of " + who +
         ": what only it does (logging, checkpoints, evaluation), other programs, CPU binding.";
}

}  // namespace straggler_rank

void check_straggler_rank(const Job& job, Findings& found) {
  using namespace straggler_rank;
  if (job.step_ns <= 0) return;
  const std::vector<uint32_t> slow = list_stragglers(job);
  for (size_t i = 0; i < slow.size(); ++i) {
    const JobRank& rank = job.ranks[slow[i]];
    // Mending it helps as far as the next one allows: what is at stake of all adds up.
    const double next_ns = i + 1 < slow.size() ? job.ranks[slow[i + 1]].excess_ns : 0;
    const double saved_ns = rank.excess_ns - next_ns;
    Finding finding;
    finding.id = "straggler-rank";
    finding.at_stake_fraction = std::clamp(saved_ns / job.step_ns, 0.0, 1.0);
    finding.where = "rank " + std::to_string(rank.summary.rank);
    finding.title = "rank " + std::to_string(rank.summary.rank) + " takes " +
                    in_time(std::llround(rank.excess_ns)) +
                    " per step more than the others, which wait for it; cause: " +
                    std::string(cause_name(rank.cause)) + " (" + rank.cause_detail + ")";
    finding.figures = {{"rank", static_cast<double>(rank.summary.rank), Unit::kNone},
                       {"more than others per step", rank.excess_ns, Unit::kNs},
                       {"explained by the cause", rank.cause_ns, Unit::kNs},
                       {"its own time per step", rank.times.own_ns, Unit::kNs},
                       {"step", job.step_ns, Unit::kNs}};
    finding.fix = advise_on(rank);
    // A second one is hidden by the first, and is told all the same.
    finding.is_note = true;
    found.push_back(std::move(finding));
  }
}

}  // namespace stepscope
