// Writes who called whom in the format of Valgrind's callgrind, for KCachegrind, QCachegrind,
// callgrind_annotate and gprof2dot. Own times by function, calls and inclusive times by edge, in
// ns; names are compressed: written once, then only their number. Recursion counts once: of calls
// from f to g, only those add to the edge's time that are not inside another call from f to g.
//
//   fl=(1) /home/me/a.py
//   fn=(1) main
//   1 1500
//   cfl=(1)
//   cfn=(2) train
//   calls=3 20
//   1 9000
//
// It is the one format of stacks that also takes call edges (a .prof).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "export/export_options.h"
#include "trace/trace.h"

namespace stepscope {

Result<std::vector<std::string>> write_callgrind(const Trace& trace, const std::string& path,
                                                 const ExportOptions& options = {});

}  // namespace stepscope
