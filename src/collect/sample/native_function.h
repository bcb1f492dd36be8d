// A native function, and what it is to those who merge its frames with Python's.
#pragma once

#include <cstdint>
#include <string>

namespace stepscope::sample {

enum class NativeRole : uint8_t {
  kCode,         // what users want to see
  kEval,         // runs Python frames: _PyEval_EvalFrameDefault
  kEvalCaller,   // of the interpreter; calls kEval, or a hook around it
  kInterpreter,  // of the interpreter's own machinery
  kThreadStart,  // what lies below all else, of libc and of the program
};

struct NativeFunction {
  std::string name;    // "at::native::addmm(…)"; "libfoo.so+0x1234" where it has none
  std::string module;  // path, as the process sees it; empty: code without a file
  bool has_name = false;
  NativeRole role = NativeRole::kCode;
};

// `is_interpreter`: its module is the one that has Python's interpreter.
NativeRole find_native_role(const NativeFunction& function, bool is_interpreter);

}  // namespace stepscope::sample
