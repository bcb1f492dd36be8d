// PausedLook: a look at a process while all of its threads stand still: their Python stacks and,
// where they are wanted, their native ones. The process goes on before anything is worked out.
//
//   auto paused = PausedLook::open(python, make_native_stacks);      // or null: Python only
//   if ((*paused)->read(reader, stacks) == PausedLook::Outcome::kGone) ...
//   for (const ThreadStack& stack : stacks) (*paused)->merge(stack, merged);
//
// One thread reads (ptrace ties what stands still to it); it need not be the one that opened.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "collect/sample/merged_stack.h"
#include "collect/sample/native_unwinder.h"
#include "collect/sample/python_process.h"
#include "collect/sample/stack_reader.h"
#include "collect/sample/thread_pause.h"

namespace stepscope::sample {

class PausedLook {
 public:
  enum class Outcome : uint8_t {
    kGood,
    kMissed,  // it could not be stopped this time: a debugger has it
    kGone,
  };

  // Fails where the process may not be stopped. Borrows `python`.
  static Result<std::unique_ptr<PausedLook>> open(const PythonProcess& python,
                                                  MakeNativeUnwinder make_unwinder);

  // All threads. With native frames those too that Python does not know, after the others, with no
  // Python frames.
  Outcome read(StackReader& reader, std::vector<ThreadStack>& stacks);

  // Null: Python only.
  const NativeUnwinder* unwinder() const { return unwinder_.get(); }
  // The native frames of a thread at the last read(); none where they could not be had.
  const NativeStack& native_stack(int32_t tid) const;
  // Both, in the order of their calls; MergedFrame::index is into `stack` and native_stack().
  void merge(const ThreadStack& stack, std::vector<MergedFrame>& merged) const;

 private:
  explicit PausedLook(const PythonProcess& python) : python_(python), pause_(python.pid()) {}

  void capture_all();
  void unwind_all();
  void append_native_threads(std::vector<ThreadStack>& stacks) const;

  const PythonProcess& python_;
  ThreadPause pause_;
  std::unique_ptr<NativeUnwinder> unwinder_;
  std::vector<RegistersAndStack> copies_;  // the first `captured_` of them are of this look
  size_t captured_ = 0;
  std::vector<NativeStack> natives_;            // by copy
  std::unordered_map<int32_t, size_t> by_tid_;  // copy
};

}  // namespace stepscope::sample
