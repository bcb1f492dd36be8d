// Loads a trace for a command, with a progress bar where the work is long.
#pragma once

#include <string>

#include "base/status.h"
#include "trace/trace.h"

namespace stepscope::cli {

Result<Trace> load_trace(const std::string& path);

}  // namespace stepscope::cli
