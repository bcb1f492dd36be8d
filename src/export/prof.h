// Writes the functions of a trace as a `.prof`, which pstats, snakeviz, gprof2dot, flameprof and
// Stepscope itself read. What it holds is the CallGraph: no timeline.
#pragma once

#include <string>

#include "base/status.h"
#include "export/export_options.h"
#include "trace/call_profile.h"
#include "trace/trace.h"

namespace stepscope {

// Functions go by their file, line and last name, as cProfile has them ("A.f" is f); those that are
// then the same are summed up. Functions without a file are cProfile's built-in ones.
CallProfile build_call_profile(const Trace& trace, const ExportOptions& options = {});

// Fails where the trace has no functions: readers refuse an empty profile.
Status write_prof_file(const Trace& trace, const std::string& path,
                       const ExportOptions& options = {});

}  // namespace stepscope
