// What got faster and what slower from one job to another: of steps, phases, operators, kernels and
// ranks, per step and in the mean over ranks. Noise is that between steps; of operators and
// kernels, which summaries have in total only, that between ranks.
#pragma once

#include "analyze/diff.h"
#include "analyze/job.h"

namespace stepscope {

Result<Diff> compare_jobs(const Job& before, const Job& after, const TableOptions& options);

}  // namespace stepscope
