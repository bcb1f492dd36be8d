// The timeline's tiles for an HTML file, level by level over all runs and tracks, those with most
// time first. A tile in which every slice is itself is not refined: it stands for all below it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "serve/api.h"
#include "serve/html_file.h"

namespace stepscope::serve {

struct HtmlTilesResult {
  size_t tracks = 0;
  size_t cut_tracks = 0;  // finer tiles than those in the file would show more
};

// Leaves `bytes_to_leave` of the file's room free. `runs` by their numbers in `api`; null: not
// open.
HtmlTilesResult add_tiles(Api& api, const std::vector<const Trace*>& runs, HtmlFile& file,
                          uint64_t bytes_to_leave,
                          const std::function<void(double fraction)>& progress);

}  // namespace stepscope::serve
