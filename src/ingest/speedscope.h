// speedscope's JSON (https://www.speedscope.app/file-format-schema.json), as speedscope itself,
// py-spy, pyinstrument, rbspy and Stepscope write it. Every profile becomes a thread: one of opened
// and closed frames gets slices of kind call, named as Kineto names functions ("a.py(17): f"); one
// of weighted stacks gets samples, laid out one after the other. Units of time become ns; where a
// profile counts bytes or does not say what it counts, metadata "weight_unit" is "bytes" or "none",
// and a note says so.
#pragma once

#include <string_view>

#include "base/status.h"
#include "ingest/byte_source.h"
#include "ingest/load.h"
#include "trace/trace.h"

namespace stepscope {

bool looks_like_speedscope(std::string_view head);
Result<Trace> load_speedscope(ByteSource& source, const LoadOptions& options);

}  // namespace stepscope
