// PyTorch's raw memory timeline (`export_memory_timeline("x.raw.json.gz")`): what happened to the
// memory of one device, a list of [time in ns, action, bytes, category].
//
//   [[-1, 1, 37888, 7], [1696966047096061874, 4, -37888, 7], …]
//
// Actions: 1 there before the recording (time -1), 2 created, 3 a new version of a tensor (its
// bytes leave one category, -n, and join another, +n), 4 destroyed. It becomes a counter "memory"
// with a series per category and one for the total, and an allocation per tensor that comes or
// goes. Read as a stream.
#pragma once

#include <string_view>

#include "base/status.h"
#include "ingest/byte_source.h"
#include "ingest/load.h"
#include "trace/trace.h"

namespace stepscope {

bool looks_like_torch_memory_timeline(std::string_view head);
Result<Trace> load_torch_memory_timeline(ByteSource& source, const LoadOptions& options);

}  // namespace stepscope
