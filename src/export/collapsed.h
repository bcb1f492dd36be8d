// Writes a trace as collapsed ("folded") stacks, which flamegraph.pl, inferno and speedscope read:
// a line per stack, its frames from the outermost to the innermost, then the time that was the
// innermost one's own.
//
//   # stepscope: weights in ns
//   main (a.py:1);train (a.py:20);forward (model.py:7) 1503200
//
// Weights are whole ns, so that nothing short is lost (flamegraph.pl --countname ns); where the
// trace came from a file that did not tell its unit, they are what they were. Readers skip the
// first line since it does not end in a number; ours knows by it that the weights are times. ";" in
// a name becomes ":", as in the stackcollapse scripts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "export/export_options.h"
#include "trace/trace.h"

namespace stepscope {

Result<std::vector<std::string>> write_collapsed(const Trace& trace, const std::string& path,
                                                 const ExportOptions& options = {});

}  // namespace stepscope
