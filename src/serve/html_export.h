// export_html: runs as one HTML file that needs no server: the viewer's page with the answers to
// what it asks, as many as a number of bytes allows (docs/viewer.md, "One file").
//
//   auto left_out = export_html(infos, "run.html", {.max_bytes = 20'000'000});
//   for (const std::string& line : *left_out) …    // "the finest details of 3 of 40 tracks"
//
// Tables and stacks come first, with fewer rows where they are too many; then tiles of the
// timeline, level by level; then the details of slices, the longest first.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "serve/runs.h"

namespace stepscope::serve {

struct HtmlExportOptions {
  uint64_t max_bytes = 20'000'000;
  std::function<void(double fraction)> progress;
};

// What was left out, in lines that the page shows too. Fails where the file can not be written.
Result<std::vector<std::string>> export_html(std::vector<RunInfo> runs, const std::string& path,
                                             const HtmlExportOptions& options);

}  // namespace stepscope::serve
