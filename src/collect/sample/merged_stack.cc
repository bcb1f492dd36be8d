#include "collect/sample/merged_stack.h"

#include <algorithm>

namespace stepscope::sample {
namespace {

class Merger {
 public:
  Merger(std::span<const StackFrame> python, std::span<const NativeFrame> native,
         std::vector<MergedFrame>& merged)
      : python_(python), native_(native), merged_(merged) {}

  // The native frames up to the next run of the interpreter's loop, which is passed as well.
  void add_native_to_run() {
    for (; at_native_ < native_.size(); ++at_native_) {
      const NativeRole role = native_[at_native_].role;
      if (role == NativeRole::kCode) merged_.push_back({true, at_native_});
      if (role != NativeRole::kEval) continue;
      ++at_native_;
      return;
    }
  }

  // The Python frames of one run.
  void add_python_of_run() {
    while (at_python_ < python_.size()) {
      merged_.push_back({false, at_python_});
      if (python_[at_python_++].is_entry) return;
    }
  }

  void add_all_python() {
    while (at_python_ < python_.size()) add_python_of_run();
  }

 private:
  std::span<const StackFrame> python_;
  std::span<const NativeFrame> native_;
  std::vector<MergedFrame>& merged_;
  uint32_t at_python_ = 0;
  uint32_t at_native_ = 0;
};

}  // namespace

void merge_stacks(std::span<const StackFrame> python, const NativeStack& native,
                  std::vector<MergedFrame>& merged) {
  merged.clear();
  const auto evals = std::count_if(native.frames.begin(), native.frames.end(),
                                   [](const auto& f) { return f.role == NativeRole::kEval; });
  auto runs = std::count_if(python.begin(), python.end(), [](const auto& f) { return f.is_entry; });
  if (!python.empty() && !python.back().is_entry) ++runs;  // the outermost one is cut off
  // The loop has begun, and has no frame yet, or has given up its last one.
  const bool has_empty_run = native.is_whole && evals == runs + 1;
  const bool agree = has_empty_run || (native.is_whole ? evals == runs : evals <= runs);
  Merger merger(python, native.frames, merged);
  if (!agree) {
    merger.add_native_to_run();
    merger.add_all_python();
    return;
  }
  if (has_empty_run) merger.add_native_to_run();
  for (auto i = evals - (has_empty_run ? 1 : 0); i > 0; --i) {
    merger.add_native_to_run();
    merger.add_python_of_run();
  }
  merger.add_native_to_run();  // what called the outermost run; or all there is
  merger.add_all_python();     // the native stack ends before
}

}  // namespace stepscope::sample
