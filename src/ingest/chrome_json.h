// Chrome trace-event JSON, in the forms that its many writers give it: an object with
// "traceEvents", a bare array, an array without its end. Read in event-aligned chunks by all cores:
//
//   ByteSource -> ChunkSource -> EventParser (one per core) -> EventAssembler (in order) ->
//   TraceBuilder
//
// At any time only a few chunks of text are in memory.
#pragma once

#include "base/status.h"
#include "ingest/byte_source.h"
#include "ingest/load.h"
#include "trace/trace.h"

namespace stepscope {

bool looks_like_chrome_json(std::string_view head);
Result<Trace> load_chrome_json(ByteSource& source, const LoadOptions& options);

}  // namespace stepscope
