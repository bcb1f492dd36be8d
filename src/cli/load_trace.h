// Loads a trace for a command, with a progress bar where the work is long.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"

namespace stepscope::cli {

Result<Trace> load_trace(const std::string& path);

// The one trace that a path stands for (ingest/trace_paths.h); what is remote is brought here.
Result<std::string> find_trace(const std::string& path);

// Where several are welcome: remote ones are brought here, and why others can not be is said.
std::vector<std::string> bring_all_here(const std::vector<std::string>& paths);

}  // namespace stepscope::cli
