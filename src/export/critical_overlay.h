// The trace as Chrome JSON with its critical path drawn over it: the slices that it goes through
// have the argument "critical": 1, and where it goes from one to another that is not around it (a
// launch, a synchronisation, the next operator of a thread) there is an arrow. This is what
// HolisticTraceAnalysis' overlay_critical_path_analysis writes, for Perfetto and chrome://tracing.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "export/export_options.h"
#include "trace/trace.h"

namespace stepscope {

Result<std::vector<std::string>> write_critical_overlay(const Trace& trace, const std::string& path,
                                                        const ExportOptions& options);

}  // namespace stepscope
