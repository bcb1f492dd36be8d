// What the threads of a dump wait for in the program's own words: the GIL, locks and who holds
// them, the ends of other threads.
//
//   find_awaited(objects, codes, stacks, dump.threads);
#pragma once

#include <vector>

#include "cli/dump.h"
#include "collect/sample/code_table.h"
#include "collect/sample/remote_objects.h"
#include "collect/sample/stack_reader.h"

namespace stepscope::cli {

// Sets `awaited` of each thread; `stacks` are theirs, in the same order. To be forgotten where a
// thread turns out to have run meanwhile.
void find_awaited(sample::RemoteObjects& objects, const sample::CodeTable& codes,
                  const std::vector<sample::ThreadStack>& stacks, std::vector<DumpThread>& threads);

}  // namespace stepscope::cli
