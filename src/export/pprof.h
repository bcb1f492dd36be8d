// Writes a trace as pprof's profile.proto, gzipped as its readers expect: `go tool pprof`, pprof's
// web pages, speedscope, Pyroscope. A sample per distinct stack, with its calls (of a trace of
// samples: how many saw it) and its own time in ns; a location per function.
// https://github.com/google/pprof/blob/main/proto/profile.proto
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "export/export_options.h"
#include "trace/trace.h"

namespace stepscope {

Result<std::vector<std::string>> write_pprof(const Trace& trace, const std::string& path,
                                             const ExportOptions& options = {});

}  // namespace stepscope
