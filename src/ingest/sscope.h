// Stepscope's own file. A plain file is mapped; one that is compressed or comes through a pipe is
// read into memory first. See trace/trace_file.h for what is in it.
#pragma once

#include <string_view>

#include "base/status.h"
#include "ingest/byte_source.h"
#include "ingest/load.h"
#include "trace/trace.h"

namespace stepscope {

bool looks_like_sscope(std::string_view head);
Result<Trace> load_sscope(ByteSource& source, const LoadOptions& options);

}  // namespace stepscope
