// poor-overlap: communication that could run while something is computed does not.
#include <algorithm>
#include <cmath>

#include "advise/finding_text.h"
#include "advise/job_rules.h"
#include "advise/rules.h"
#include "analyze/operator_rules.h"

namespace stepscope {
namespace {

constexpr double kOfStep = 0.05;
constexpr double kWellHidden = 0.5;  // of the communication: more is no poor overlap

double median(const Job& job, double (*get)(const RankTimes&)) {
  std::vector<double> values;
  for (const JobRank& rank : job.ranks) {
    if (rank.summary.steady_steps() > 0) values.push_back(get(rank.times));
  }
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool has_collectives(const Trace& trace) {
  const std::vector<Label>& labels = trace.labels().all();
  return std::any_of(labels.begin(), labels.end(), [&](const Label& label) {
    const std::string_view name = trace.string(label.name);
    return is_communication_kernel(name) || is_communication_scope(name);
  });
}

}  // namespace

CommunicationUse::CommunicationUse(const Job& job)
    : communication_ns(median(job, [](const RankTimes& times) { return times.communication_ns; })),
      transfer_ns(median(job,
                         [](const RankTimes& times) {
                           return std::max(
                               0.0, times.communication_ns - times.overlap_ns - times.wait_ns);
                         })),
      overlap_ns(median(job, [](const RankTimes& times) { return times.overlap_ns; })),
      compute_ns(median(job, [](const RankTimes& times) {
        return std::max(0.0, times.compute_ns - times.overlap_ns);
      })) {}

double CommunicationUse::hideable_ns() const { return std::min(transfer_ns, compute_ns); }

void check_job_poor_overlap(const Job& job, Findings& found) {
  if (job.step_ns <= 0 || !job.is_by_step) return;
  const CommunicationUse use(job);
  const double hideable_ns = use.hideable_ns();
  if (hideable_ns < kOfStep * job.step_ns) return;
  if (use.overlap_ns > kWellHidden * (use.overlap_ns + use.transfer_ns)) return;
  Finding finding;
  finding.id = "poor-overlap";
  finding.at_stake_fraction = std::min(1.0, hideable_ns / job.step_ns);
  const double hidden = use.overlap_ns / std::max(1.0, use.overlap_ns + use.transfer_ns);
  finding.title = in_time(std::llround(use.transfer_ns)) +
                  " of communication per step run while nothing is computed; " +
                  in_percent(hidden) + " of it is hidden, and " +
                  in_time(std::llround(hideable_ns)) + " more could be";
  finding.figures = {{"communication not hidden per step", use.transfer_ns, Unit::kNs},
                     {"hidden", hidden, Unit::kFraction},
                     {"computation without communication", use.compute_ns, Unit::kNs},
                     {"step", job.step_ns, Unit::kNs}};
  finding.fix =
      "Start communication as soon as its data is there: let DistributedDataParallel reduce "
      "buckets "
      "during the backward pass (smaller bucket_cap_mb, static_graph=True), prefetch in FSDP "
      "(backward_prefetch, forward_prefetch), and call wait() of asynchronous collectives late.";
  finding.code = "model = DistributedDataParallel(model, bucket_cap_mb=10, static_graph=True)";
  // All of it could be hidden: that it takes time is then no problem of its own.
  if (hideable_ns >= 0.95 * use.transfer_ns) finding.includes = {"communication-bound"};
  found.push_back(std::move(finding));
}

void check_poor_overlap(const Case& c, Findings& found) {
  if (!c.has_steps() || !has_collectives(c.trace)) return;
  const size_t before = found.size();
  check_job_poor_overlap(*Job::of(c.trace), found);
  // One rank alone can not tell transfers from waiting for others, which no overlap saves: that the
  // step is bound by communication stays said.
  for (size_t i = before; i < found.size(); ++i) found[i].includes.clear();
}

}  // namespace stepscope
