// The native frames of threads of another process, unwound by the tables that compilers leave for
// exceptions (.eh_frame), by libunwind. Libraries that come and go are followed. See
// collect/sample/native_unwinder.h for how it is used; in a folder of its own, because only some
// programs link libunwind.
//
//   SamplerOptions options{.native = true, .make_unwinder = make_native_stacks};
#pragma once

#include <memory>
#include <string>

#include "collect/sample/native_unwinder.h"

namespace stepscope::sample {

// Borrows `memory`. `interpreter` is the path of the module that has Python's interpreter.
std::unique_ptr<NativeUnwinder> make_native_stacks(const ProcessMemory& memory,
                                                   const std::string& interpreter);

}  // namespace stepscope::sample
