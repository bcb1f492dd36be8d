// NativeStacks: the native (C, C++, …) frames of threads of another process, unwound by the tables
// that compilers leave for exceptions (.eh_frame), with the names of their functions.
//
// What has to be done while a thread stands still is little: its registers and its stack are
// copied. Unwinding the copy, and finding names, comes after it goes on.
//
//   NativeStacks natives(python.memory(), python.binary());
//   pause.pause();
//   natives.capture(tid, copy);
//   pause.resume();
//   natives.unwind(copy, stack);
//   for (const NativeFrame& frame : stack.frames) natives.function(frame.function).name;
//
// One thread uses an object. Libraries that come and go are followed.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collect/sample/native_function.h"
#include "collect/sample/process_memory.h"

namespace stepscope::sample {

inline constexpr size_t kMaxNativeFrames = 512;

struct NativeFrame {
  uint64_t address = 0;   // of the instruction; of the one after the call in callers
  uint32_t function = 0;  // of NativeStacks::function()
  uint32_t offset = 0;    // of the address, from the function's begin
};

struct NativeStack {
  std::vector<NativeFrame> frames;  // the innermost first
  bool is_whole = false;            // down to the thread's begin
};

// What a thread was at when it stood still. May be used again: its memory is kept.
struct RegistersAndStack {
  pid_t tid = 0;
  std::array<uint64_t, 33> registers{};  // in libunwind's order
  uint64_t stack_begin = 0;
  std::vector<uint8_t> stack;
};

class NativeStacks {
 public:
  // Borrows `memory`. `interpreter` is the path of the module that has Python's interpreter.
  NativeStacks(const ProcessMemory& memory, std::string interpreter);
  ~NativeStacks();
  NativeStacks(NativeStacks&&) noexcept;

  // Of a thread that this thread has stopped by ptrace. False where it is gone.
  bool capture(pid_t tid, RegistersAndStack& copy);
  void unwind(const RegistersAndStack& copy, NativeStack& stack);

  // Valid until the object's end; numbers are never given anew.
  const NativeFunction& function(uint32_t number) const;
  uint32_t function_count() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope::sample
