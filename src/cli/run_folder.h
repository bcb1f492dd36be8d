// The folder that a run is recorded into: a new one for each, or one that holds none.
#pragma once

#include <string>

#include "base/status.h"

namespace stepscope::cli {

// In outputs/profiler_results, by what is recorded and the time of day.
std::string make_run_folder_name(const std::string& recorded);

// Makes it. Where it holds a run, that is removed if `overwrite`, or else is an error.
Status prepare_run_folder(const std::string& folder, bool overwrite);

}  // namespace stepscope::cli
