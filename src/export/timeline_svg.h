// A still picture of the timeline, for any browser and for papers: tracks with their names, slices
// by depth, counters as curves, steps marked. What is too short for a pixel is merged, and the
// picture says how much that is. Light and dark as the reader's system is.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

// See ExportFormat::write.
Result<std::vector<std::string>> write_timeline_svg(const Trace& trace, const std::string& path);

}  // namespace stepscope
