// Who is slow in a job, why, and how evenly the rest share the work. All by a rank's own time: the
// step without the time in which it only waited for others, which in a synchronous training is the
// one thing that differs between ranks.
#pragma once

#include "analyze/job.h"

namespace stepscope {

// Without waits (nothing was matched): the step without its exposed communication.
int64_t find_own_ns(const Job& job, const JobRank& rank, size_t step);

// Sets excess_ns, is_straggler and cause of ranks; the job's step_ns and imbalance.
//
// A straggler's own time is above the median of the ranks by 5 % of the step, by four times the
// usual spread, and in most steps. Steps are compared by their number.
void find_stragglers(Job& job);

}  // namespace stepscope
