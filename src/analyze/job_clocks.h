// Clocks of a job's ranks. Ranks on different machines, or with traces that count from different
// moments, disagree about the time by milliseconds and more; a collective that none can leave
// before all have come (all_reduce, barrier) ends on all of them at the same moment, within some
// microseconds. The offset of a rank is the median over its collectives, so that some that end
// late on one rank do not matter; what is left then is told as its error.
//
// Slow equivalent: least absolute deviations of  end(rank, c) = moment(c) + offset(rank)  for all
// ranks and collectives at once. Here both are medians in turn, from a rank that is taken as right.
#pragma once

#include "analyze/job.h"

namespace stepscope {

// Sets clock_offset_ns, clock_error_ns and clock_calls of ranks; that of the first rank is 0.
void align_clocks(Job& job);

}  // namespace stepscope
