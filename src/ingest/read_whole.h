// For the formats whose parser needs the whole file in memory: reads it, up to a limit.
//
//   Result<std::string> text = read_whole(source, size_t{512} << 20, "a speedscope file", options);
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ingest/byte_source.h"
#include "ingest/load.h"

namespace stepscope {

// Fails with "<name>: <what> of more than <limit> MiB". A file that is cut short is read as far as
// it goes: see ByteSource::truncated().
Result<std::string> read_whole(ByteSource& source, size_t max_bytes, std::string_view what,
                               const LoadOptions& options);

}  // namespace stepscope
