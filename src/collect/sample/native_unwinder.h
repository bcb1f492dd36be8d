// NativeUnwinder: gives the native (C, C++, …) frames of threads of another process, with the names
// of their functions. What has to be done while a thread stands still is little: its registers and
// its stack are copied. Unwinding the copy, and finding names, comes after it goes on.
//
// An interface, so that programs that sample without native frames need no library for unwinding:
// who wants them hands in a function that makes one (collect/native/native_stack.h).
//
//   auto unwinder = make_native_stacks(python.memory(), python.binary());
//   pause.pause();
//   unwinder->capture(tid, copy);
//   pause.resume();
//   unwinder->unwind(copy, stack);
//   for (const NativeFrame& frame : stack.frames) unwinder->function(frame.function).name;
//
// One thread uses an object.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
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
  uint32_t function = 0;  // of NativeUnwinder::function()
  uint32_t offset = 0;    // of the address, from the function's begin
  NativeRole role = NativeRole::kCode;
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

class NativeUnwinder {
 public:
  virtual ~NativeUnwinder() = default;

  // Of a thread that this thread has stopped by ptrace. False where it is gone.
  virtual bool capture(pid_t tid, RegistersAndStack& copy) = 0;
  virtual void unwind(const RegistersAndStack& copy, NativeStack& stack) = 0;

  // Valid until the object's end; numbers are never given anew.
  virtual const NativeFunction& function(uint32_t number) const = 0;
  virtual uint32_t function_count() const = 0;
};

// Borrows `memory`. `interpreter` is the path of the module that has Python's interpreter.
using MakeNativeUnwinder = std::unique_ptr<NativeUnwinder> (*)(const ProcessMemory& memory,
                                                               const std::string& interpreter);

}  // namespace stepscope::sample
