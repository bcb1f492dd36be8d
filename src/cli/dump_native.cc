#include "cli/dump_native.h"

#include <utility>

#include "collect/native/native_stack.h"
#include "collect/sample/merged_stack.h"

namespace stepscope::cli {

DumpNative::DumpNative(const sample::PythonProcess& python)
    : unwinder_(sample::make_native_stacks(python.memory(), python.binary())) {}

void DumpNative::capture(std::span<const pid_t> tids) {
  for (const pid_t tid : tids) {
    sample::RegistersAndStack copy;
    if (unwinder_->capture(tid, copy)) copies_.emplace(tid, std::move(copy));
  }
}

void DumpNative::merge(int32_t tid, std::span<const sample::StackFrame> frames,
                       std::vector<DumpFrame>& shown) {
  const auto copy = copies_.find(tid);
  if (copy == copies_.end()) return;
  sample::NativeStack native;
  unwinder_->unwind(copy->second, native);
  std::vector<sample::MergedFrame> merged;
  sample::merge_stacks(frames, native, merged);
  std::vector<DumpFrame> all;
  for (const sample::MergedFrame& frame : merged) {
    all.push_back(frame.is_native ? describe(native.frames[frame.index])
                                  : std::move(shown[frame.index]));
  }
  shown = std::move(all);
}

DumpFrame DumpNative::describe(const sample::NativeFrame& frame) const {
  const sample::NativeFunction& function = unwinder_->function(frame.function);
  return {.name = function.name, .file = function.module, .is_native = true};
}

}  // namespace stepscope::cli
