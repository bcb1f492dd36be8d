// poor-overlap: communication that could run while something is computed does not.
#include <algorithm>
#include <cmath>

#include "advise/finding_text.h"
#include "advise/job_rules.h"
#include "advise/rules.h"
#include "analyze/operator_rules.h"

namespace stepscope {
namespace poor_overlap {

constexpr double kOfStep = 0.05;
constexpr double kWellHidden = 0.5;  // of the communication: more is no poor overlap

bool has_collectives(const Trace& trace) {
  const std::vector<Label>& labels = trace.labels().all();
  return std::any_of(labels.begin(), labels.end(), [&](const Label& label) {
    const std::string_view name = trace.string(label.name);
    return is_communication_kernel(name) || is_communication_scope(name);
  });
}

}  // namespace poor_overlap

void check_job_poor_overlap(const Job& job, Findings& found) {
  using namespace poor_overlap;
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
  using namespace poor_overlap;
  if (!c.has_steps() || !has_collectives(c.trace)) return;
  const size_t before = found.size();
  check_job_poor_overlap(*Job::of(c.trace), found);
  // One rank alone can not tell transfers from waiting for others, which no overlap saves: that the
  // step is bound by communication stays said.
  for (size_t i = before; i < found.size(); ++i) found[i].includes.clear();
}

}  // namespace stepscope
