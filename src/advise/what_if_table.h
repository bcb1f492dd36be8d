// The view of `--what-if`: what a step would take if something were otherwise.
#pragma once

#include <string>
#include <vector>

#include "analyze/table.h"
#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

// A row for each request: the id of a finding (as if it were mended), or NAME=2x: a function,
// operator or kernel that takes half of its time; NAME=0: none.
Result<Table> what_if(const Trace& trace, const std::vector<std::string>& requests);

}  // namespace stepscope
