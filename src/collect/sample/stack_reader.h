// StackReader: the Python stacks of all threads of a process, as they are at a moment, without
// stopping it. One system call copies, for all threads, what their stacks were made of the last
// time (thread_copy.h); what has moved is asked for again. A copy that can not have been a stack
// (frame_chain.h) is taken again, and after some tries given up: never shown.
//
//   StackReader reader(python, codes);
//   if (!reader.read(stacks)) ...                     // gone, or it has become another program
//   for (const ThreadStack& thread : stacks) ...
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "collect/sample/python_process.h"

namespace stepscope::sample {

class CodeTable;

struct StackFrame {
  uint64_t code = 0;        // address of the code object
  uint64_t address = 0;     // of the frame itself
  int32_t instruction = 0;  // its offset in bytes from the first one; below 0: not begun
  bool is_entry = false;    // C called it: native frames lie between it and its caller
  bool is_generator = false;
};

struct ThreadStack {
  uint64_t thread_state = 0;  // its address
  uint64_t thread_id = 0;     // the interpreter's own number: never used twice
  uint64_t pthread = 0;
  int32_t tid = 0;           // 0 where it is not known
  uint64_t interpreter = 0;  // its number
  bool holds_gil = false;
  bool is_torn = false;            // no consistent copy could be had; `frames` is empty
  bool is_old = false;             // it has not run: `frames` is what was read before
  std::vector<StackFrame> frames;  // the innermost first; none: it runs no Python
};

class StackReader {
 public:
  // Borrows both. All code on the stacks is in `codes` after a read().
  StackReader(const PythonProcess& python, CodeTable& codes);
  ~StackReader();
  StackReader(StackReader&&) noexcept;

  // All threads; `threads` is used again, with its memory. False where the process can not be read
  // any more. Where `has_run` says no of a tid, the thread's last stack is given again, unread.
  bool read(std::vector<ThreadStack>& threads,
            const std::function<bool(int32_t tid)>& has_run = nullptr);
  // A thread was missed: look for all of them the next time.
  void expect_changes();
  // The process stands still: what is read is true as it is.
  void set_paused(bool is_paused);

  uint64_t torn_reads() const;  // copies that had to be taken again

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepscope::sample
