// megengine.json: the operators of a trace as a static profile of MegEngine, which its own
// profile_analyze reads as well: times on devices and host threads, FLOPs, bytes, shapes.
//
//   {"profiler": {"device": {"17": {"CompNode(…)": {"start": 0.1, "kern": 0.1, "end": 0.3}}},
//   "host": …,
//                 "opr_footprint": …},
//    "graph_exec": {"operator": …, "var": …, "mem_chunk": {}, "comp_seq": ["17", …]}}
//
// Of a static profile that was read, it is that profile again. Of any other trace the graph is a
// list: which operator made another one's input is not known, and each has inputs and outputs of
// its own.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

// See ExportFormat::write.
Result<std::vector<std::string>> write_megengine_static(const Trace& trace,
                                                        const std::string& path);

}  // namespace stepscope
