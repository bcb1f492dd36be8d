// Reads one rank of a job and keeps its summary alone: what a worker does, on this machine or on a
// cluster.
//
//   Result<RankSummary> summary = read_rank("/tmp/x7f3", {.source = "rank-7.json.gz"});
#pragma once

#include <string>

#include "analyze/rank_summary.h"
#include "base/status.h"

namespace stepscope {

// In one thread: workers are as many as there are cores. Messages name options.source, not the
// path, which may be that of a copy: "rank-7.json.gz: the file is empty".
Result<RankSummary> read_rank(const std::string& path, const SummaryOptions& options);

}  // namespace stepscope
