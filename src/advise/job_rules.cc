#include "advise/job_rules.h"

#include <algorithm>
#include <vector>

namespace stepscope {
namespace {

double median_of_ranks(const Job& job, double (*get)(const RankTimes&)) {
  std::vector<double> values;
  for (const JobRank& rank : job.ranks) {
    if (rank.summary.steady_steps() > 0) values.push_back(get(rank.times));
  }
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

CommunicationUse::CommunicationUse(const Job& job)
    : communication_ns(
          median_of_ranks(job, [](const RankTimes& times) { return times.communication_ns; })),
      transfer_ns(median_of_ranks(job,
                                  [](const RankTimes& times) {
                                    return std::max(0.0, times.communication_ns - times.overlap_ns -
                                                             times.wait_ns);
                                  })),
      overlap_ns(median_of_ranks(job, [](const RankTimes& times) { return times.overlap_ns; })),
      compute_ns(median_of_ranks(job, [](const RankTimes& times) {
        return std::max(0.0, times.compute_ns - times.overlap_ns);
      })) {}

double CommunicationUse::hideable_ns() const { return std::min(transfer_ns, compute_ns); }

}  // namespace stepscope
