// Writes the memory of a device by category over time, as torch's
// `export_memory_timeline("x.json")` does:
//
//   [[1696966047096061, …], [[0, 37888, 0, 0, 0, 0, 0, 0, 424], …]]
//
// First the moments in us since 1970 (of the trace's clock where that is not known), each once;
// then, for each, a zero and the bytes by category, in the order of MemoryCategory.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

// Of the first device that is no CPU, else of the CPU, as torch chooses. Fails where the trace has
// no allocations.
Result<std::vector<std::string>> write_memory_timeline_json(const Trace& trace,
                                                            const std::string& path);
// Of a device by its name, "cpu" or "cuda:0". Fails where it has no memory in the trace.
Result<std::vector<std::string>> write_memory_timeline_json(const Trace& trace,
                                                            const std::string& path,
                                                            const std::string& device);

}  // namespace stepscope
