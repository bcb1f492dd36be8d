// Writes a trace as speedscope's JSON (https://www.speedscope.app): a profile per track, of opened
// and closed frames where the track has slices, of weighted stacks where it has samples. Times are
// in ns from the first of them, because speedscope's numbers are doubles; weights whose unit a
// foreign file left open stay without one.
//
//   {"$schema": "…", "shared": {"frames": [{"name": "main", "file": "a.py", "line": 1}]},
//    "profiles": [{"type": "evented", "name": "MainThread", "unit": "nanoseconds", "startValue": 0,
//                  "endValue": 90, "events": [{"type": "O", "frame": 0, "at": 0}, …]}]}
//
// speedscope wants frames to nest. Of two slices that overlap in part, the earlier is cut short
// where the later begins; how many is told.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "export/export_options.h"
#include "trace/trace.h"

namespace stepscope {

Result<std::vector<std::string>> write_speedscope(const Trace& trace, const std::string& path,
                                                  const ExportOptions& options = {});

}  // namespace stepscope
