// The asyncio tasks of a dump as a tree: those that nobody waits for first, below each the tasks
// that it waits for. Tasks that stand at the same place are told by a count.
#pragma once

#include "cli/dump.h"
#include "cli/dump_lines.h"

namespace stepscope::cli {

void append_tasks(DumpLines& lines, const ProcessDump& dump);

}  // namespace stepscope::cli
