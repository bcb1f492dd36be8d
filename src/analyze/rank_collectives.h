// The collectives of one rank's trace: which calls there were, of which process group, how large.
// On a device they are NCCL's kernels, which wait for the other ranks as long as they run; where
// there are none, the host's scopes (gloo:all_reduce). What a kernel does not tell by itself
// (older traces) is read from the scope that its launch was made in.
#pragma once

#include <vector>

#include "analyze/intervals.h"
#include "analyze/rank_summary.h"
#include "trace/trace.h"

namespace stepscope {

struct RankCollectives {
  std::vector<ProcessGroup> groups;
  std::vector<CollectiveShape> shapes;
  std::vector<CollectiveCall> calls;  // by start, on the trace's own clock; steps are not set
  bool is_on_device = false;

  static RankCollectives find(const Trace& trace, int64_t world_size);
};

}  // namespace stepscope
