// Reads what TensorFlow's and JAX's profilers write (xplane.pb, a protobuf): planes (a host, a
// device) of lines (a thread, a stream) of events with stats. A profile of several hosts is a
// folder with a file for each: they become one trace on one clock.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ingest/byte_source.h"
#include "ingest/load.h"
#include "trace/trace.h"

namespace stepscope {

bool looks_like_xplane(std::string_view head);
Result<Trace> load_xplane(ByteSource& source, const LoadOptions& options);

// The files of one profile, a host each. One that can not be read is left out with a note; `source`
// is what the trace is said to be from. Fails as the first file does where none can be read.
Result<Trace> load_xplane_files(const std::vector<std::string>& files, const std::string& source,
                                const std::vector<std::string>& notes, const LoadOptions& options);

}  // namespace stepscope
