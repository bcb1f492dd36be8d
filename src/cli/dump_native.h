// DumpNative: the native frames of a dump. Registers and stacks are copied while the process stands
// still; the rest is worked out after it goes on.
//
//   DumpNative natives(python);
//   natives.capture(pause.stopped());
//   pause.resume();
//   natives.merge(tid, python_frames, thread.frames);
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "cli/dump.h"
#include "collect/sample/native_unwinder.h"
#include "collect/sample/python_process.h"
#include "collect/sample/stack_reader.h"

namespace stepscope::cli {

class DumpNative {
 public:
  // Borrows it.
  explicit DumpNative(const sample::PythonProcess& python);

  // Of threads that this thread has stopped.
  void capture(std::span<const pid_t> tids);
  // Puts the native frames of a thread among those of Python, of which `shown` has one for each.
  void merge(int32_t tid, std::span<const sample::StackFrame> frames,
             std::vector<DumpFrame>& shown);

 private:
  DumpFrame describe(const sample::NativeFrame& frame) const;

  std::unique_ptr<sample::NativeUnwinder> unwinder_;
  std::unordered_map<int32_t, sample::RegistersAndStack> copies_;  // by tid
};

}  // namespace stepscope::cli
