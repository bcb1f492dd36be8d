// What `stepscope run` and `stepscope record` print on stderr at the end: the verdict, the
// functions, and where to look further.
#pragma once

#include <string>

#include "trace/trace.h"

namespace stepscope::cli {

// `path` is a run's folder or its recording. `weight` is the time of samples that counts, as in
// TableOptions.
void print_run_report(const std::string& path, const std::string& weight = "");

// Only the verdict and the functions.
void print_trace_report(const Trace& trace, const std::string& weight = "");

}  // namespace stepscope::cli
