// Reads a `.prof` as cProfile and pstats write it: functions and who called them, with no timeline.
// They become call edges.
#pragma once

#include "ingest/byte_source.h"
#include "ingest/load.h"
#include "ingest/prof_decoder.h"

namespace stepscope {

Result<Trace> load_prof(ByteSource& source, const LoadOptions& options);

}  // namespace stepscope
