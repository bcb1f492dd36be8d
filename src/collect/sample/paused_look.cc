#include "collect/sample/paused_look.h"

#include <algorithm>

namespace stepscope::sample {

Result<std::unique_ptr<PausedLook>> PausedLook::open(const PythonProcess& python,
                                                     MakeNativeUnwinder make_unwinder) {
  {
    ThreadPause trial(python.pid());
    if (Status held = trial.pause(); !held) return held;
  }
  std::unique_ptr<PausedLook> look(new PausedLook(python));
  if (make_unwinder != nullptr) look->unwinder_ = make_unwinder(python.memory(), python.binary());
  return look;
}

PausedLook::Outcome PausedLook::read(StackReader& reader, std::vector<ThreadStack>& stacks) {
  captured_ = 0;
  by_tid_.clear();
  if (!pause_.pause()) return python_.is_there() ? Outcome::kMissed : Outcome::kGone;
  reader.set_paused(pause_.is_whole());
  const bool is_read = reader.read(stacks);
  if (is_read && unwinder_ != nullptr) capture_all();
  pause_.resume();
  if (!is_read) return Outcome::kGone;
  if (unwinder_ != nullptr) {
    append_native_threads(stacks);
    unwind_all();
  }
  return Outcome::kGood;
}

void PausedLook::capture_all() {
  for (const pid_t tid : pause_.stopped()) {
    if (copies_.size() == captured_) copies_.emplace_back();
    if (!unwinder_->capture(tid, copies_[captured_])) continue;
    by_tid_[tid] = captured_++;
  }
}

void PausedLook::unwind_all() {
  if (natives_.size() < captured_) natives_.resize(captured_);
  for (size_t i = 0; i < captured_; ++i) unwinder_->unwind(copies_[i], natives_[i]);
}

void PausedLook::append_native_threads(std::vector<ThreadStack>& stacks) const {
  std::vector<int32_t> of_python;
  for (const ThreadStack& stack : stacks) of_python.push_back(stack.tid);
  std::sort(of_python.begin(), of_python.end());
  for (size_t i = 0; i < captured_; ++i) {
    const int32_t tid = copies_[i].tid;
    if (std::binary_search(of_python.begin(), of_python.end(), tid)) continue;
    stacks.emplace_back().tid = tid;
  }
}

const NativeStack& PausedLook::native_stack(int32_t tid) const {
  static const NativeStack kNone;
  const auto known = by_tid_.find(tid);
  return known == by_tid_.end() ? kNone : natives_[known->second];
}

void PausedLook::merge(const ThreadStack& stack, std::vector<MergedFrame>& merged) const {
  merge_stacks(stack.frames, native_stack(stack.tid), merged);
}

}  // namespace stepscope::sample
