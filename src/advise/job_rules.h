// Rules about all ranks of a job together: each a function from a job to the findings it gives, one
// per file in rules/, listed in job_advice.cc. What is at stake is a share of the job's step, which
// all ranks have in common.
#pragma once

#include "advise/case.h"
#include "advise/finding.h"
#include "analyze/job.h"

namespace stepscope {

using JobRule = void (*)(const Job& job, Findings& found);

void check_straggler_rank(const Job& job, Findings& found);
void check_load_imbalance(const Job& job, Findings& found);
void check_job_communication_bound(const Job& job, Findings& found);
void check_job_poor_overlap(const Job& job, Findings& found);

// The same of one trace, among the rules about one (rules.h).
void check_poor_overlap(const Case& c, Findings& found);

// The communication of a usual rank, per step: the median over ranks.
struct CommunicationUse {
  double communication_ns = 0;
  double transfer_ns = 0;  // without waiting for other ranks, with nothing computed meanwhile
  double overlap_ns = 0;
  double compute_ns = 0;  // with no communication meanwhile

  explicit CommunicationUse(const Job& job);
  // Of transfer_ns: what could run while something is computed.
  double hideable_ns() const;
};

}  // namespace stepscope
