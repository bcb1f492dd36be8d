// Collapsed ("folded") stacks, as the stackcollapse scripts, py-spy, austin, perf, torch's
// export_stacks and Stepscope write them: a line per stack, its frames from the outermost to the
// innermost separated by ";", then blanks and a number. Lines that begin with "#" are comments.
//
//   main (a.py:1);train (a.py:20);forward (model.py:7) 1503
//
// A line becomes a sample of that weight. Stepscope's own first line says that the weights are ns
// (or bytes); in other files they count what the writer chose, mostly samples, and are kept as
// plain numbers: metadata "weight_unit" is "none", and a note says so. There is no timeline: stacks
// are laid out one after the other. "f (a.py:17)" and "a.py(17): f" are taken apart.
#pragma once

#include <string_view>

#include "base/status.h"
#include "ingest/byte_source.h"
#include "ingest/load.h"
#include "trace/trace.h"

namespace stepscope {

// Whether every line in it has that shape, and at least one of them more than one frame (unless it
// is our own): any text with numbers at the ends of its lines would do otherwise.
bool looks_like_collapsed(std::string_view head);
Result<Trace> load_collapsed(ByteSource& source, const LoadOptions& options);

}  // namespace stepscope
