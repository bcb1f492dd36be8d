// The local variables of a frame in another process: arguments first, those of closures seen
// through, those that are not set left out. Of a module or a class body: its names, without
// modules, functions, classes and names with two underscores.
//
//   for (const LocalVariable& local : read_locals(objects, thread.frames[0]))
//     print(local.name, local.text);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/sample/object_text.h"
#include "collect/sample/remote_objects.h"
#include "collect/sample/stack_reader.h"

namespace stepscope::sample {

struct LocalVariable {
  std::string name;
  std::string text;
  bool is_argument = false;
};

// Empty where the frame is another's by now. At most 200.
std::vector<LocalVariable> read_locals(RemoteObjects& objects, const StackFrame& frame,
                                       const TextLimits& limits = {});

// The address of one local variable's value; 0 where it is not set.
uint64_t find_local(RemoteObjects& objects, const StackFrame& frame, std::string_view name);

}  // namespace stepscope::sample
