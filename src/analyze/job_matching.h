// Which calls of different ranks are the same collective. A sequence number of the process group
// says so; without one the order has to do: the n-th all_reduce of a group is the n-th of another
// rank, if their ends are at one distance. Where they are not, or numbers differ (recordings that
// begin or end at other moments, events that were lost), the shift between two clocks at which most
// ends agree decides.
#pragma once

#include "analyze/job.h"

namespace stepscope {

// Sets groups and collectives.
void match_collectives(Job& job);

}  // namespace stepscope
