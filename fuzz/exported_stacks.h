// For the fuzzers of files of stacks: what was read is merged, and written in every format of
// stacks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "export/callgrind.h"
#include "export/collapsed.h"
#include "export/flamegraph.h"
#include "export/pprof.h"
#include "export/speedscope.h"
#include "trace/call_tree.h"

namespace stepscope {

inline void check_exports(const Trace& trace) {
  const CallTree tree = CallTree::build(trace, {});
  for (size_t id = 1; id < tree.nodes().size(); ++id) {
    CHECK(tree.nodes()[id].parent < id, "a caller comes before what it calls");
    CHECK(tree.nodes()[id].function < tree.functions().size(), "a node has a function");
  }
  CHECK(tree.heaviest_first().size() == tree.nodes().size() - 1, "every node has its place");
  if (tree.nodes().size() % 8 != 0) return;  // it takes ten times as long as reading
  for (const auto write :
       {write_collapsed, write_speedscope, write_callgrind, write_flamegraph, write_pprof}) {
    (void)write(trace, "/dev/null", {}).ok();
  }
}

}  // namespace stepscope
