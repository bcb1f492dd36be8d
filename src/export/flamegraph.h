// Writes a trace as a flame graph: one SVG file that stands for itself, for any browser, without a
// network. Callers above, what they call below; the width is time, siblings go by it. A click
// zooms, the box searches (a regular expression), Esc takes both back; the tip of a frame has its
// whole name, time, share and calls. Without scripts it is still a picture. Light or dark as the
// reader's system is.
//
// The file is bounded: frames narrower than 0.1 px, and all but the widest 50,000, are left out,
// counted, and told in the picture.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "export/export_options.h"
#include "trace/trace.h"

namespace stepscope {

Result<std::vector<std::string>> write_flamegraph(const Trace& trace, const std::string& path,
                                                  const ExportOptions& options = {});

}  // namespace stepscope
