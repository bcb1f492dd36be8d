// MegEngine's static-graph profile (`GraphProfiler`, read there by `profile_analyze`): when each
// operator of a compiled graph ran on its devices and was dispatched by its host threads, in
// seconds.
//
//   {"profiler": {"device": {"78": {"CompNode(…)": {"start": 0.1, "kern": 0.2, "end": 0.3}}},
//                 "host": …, "opr_footprint": {"78": {"computation": 40, "memory": 360,
//                 "in_shapes": …}}},
//    "graph_exec": {"operator": {"78": {"name": "ADD", "type": "Elemwise", …}}, …}}
//
// It becomes a slice per operator on a track per comp node and per host thread, start to end, with
// the arguments id, type, opr_place (its place in the list of operators), kern_ns (start to kern),
// computation, memory, in_shapes, in_layouts, out_shapes, input_dtypes and param, and an arrow from
// the host's slice to the device's.
#pragma once

#include <string_view>

#include "base/status.h"
#include "ingest/byte_source.h"
#include "ingest/load.h"
#include "trace/trace.h"

namespace stepscope {

bool looks_like_megengine_static(std::string_view head);
Result<Trace> load_megengine_static(ByteSource& source, const LoadOptions& options);

}  // namespace stepscope
