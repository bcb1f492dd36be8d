// memory_flow.svg: memory over time and address, one box per piece of memory from when it was taken
// to when it was given back; MegEngine's picture, made for looking. Gaps between addresses are cut
// out (address_map.h), colours tell what memory was held for where that is known, their strength
// how long; names come on hover; above each device is how much was held, with the peak marked.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

// See ExportFormat::write. A trace without allocations is an error that says how to record them.
Result<std::vector<std::string>> write_memory_flow(const Trace& trace, const std::string& path);

}  // namespace stepscope
