// All ranks of a job as one trace, on one clock: what `convert` makes of several inputs.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"

namespace stepscope::cli {

// Whether these paths stand for several ranks: several of them, or a folder with several traces
// that are no run.
bool has_several_ranks(const std::vector<std::string>& paths);

// Reads each trace twice: for its collectives, by which clocks are aligned, and to copy it. Says on
// stderr what could not be read, and how well clocks agree; `exit_code` becomes what that calls
// for.
Result<Trace> merge_ranks(const std::vector<std::string>& paths, int& exit_code);

}  // namespace stepscope::cli
