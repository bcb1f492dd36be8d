#include "cli/dump_waits.h"

#include <string_view>
#include <unordered_map>

#include "collect/sample/lock_waits.h"

namespace stepscope::cli {
namespace {

using sample::StackFrame;
using sample::ThreadStack;
using Kind = DumpAwaited::Kind;

class Waits {
 public:
  Waits(sample::RemoteObjects& objects, const sample::CodeTable& codes,
        const std::vector<ThreadStack>& stacks, std::vector<DumpThread>& threads)
      : objects_(objects), codes_(codes), stacks_(stacks), threads_(threads) {}

  void find() {
    for (size_t i = 0; i < threads_.size(); ++i) find_of(i);
    if (unknown_holders_.empty()) return;
    for (size_t i = 0; i < threads_.size(); ++i) find_entered(i);
  }

 private:
  bool is_of_threading(const StackFrame& frame, std::string_view function) const {
    const sample::Code* code = codes_.find(frame.code);
    return code != nullptr && code->name == function && code->file.ends_with("/threading.py");
  }

  int32_t tid_of(uint64_t pthread) const {
    for (size_t i = 0; i < stacks_.size(); ++i) {
      if (pthread != 0 && stacks_[i].pthread == pthread) return threads_[i].tid;
    }
    return 0;
  }

  void find_of(size_t i) {
    DumpThread& thread = threads_[i];
    if (!thread.wait.is_waiting() || thread.wait.futex == 0) return;
    if (sample::is_gil(objects_, thread.wait.futex)) {
      thread.awaited.kind = Kind::kGil;
      return;
    }
    if (stacks_[i].frames.empty()) return;
    const StackFrame& frame = stacks_[i].frames.front();
    if (is_of_threading(frame, "Thread._wait_for_tstate_lock") ||
        is_of_threading(frame, "Thread.join")) {
      thread.awaited = {.kind = Kind::kThread,
                        .by_tid = tid_of(sample::find_thread_of_self(objects_, frame))};
    } else if (is_of_threading(frame, "_shutdown")) {
      thread.awaited.kind = Kind::kAllThreads;
    } else if (is_of_threading(frame, "Condition.wait")) {
      thread.awaited.kind = Kind::kCondition;
    } else if (const auto lock = sample::find_awaited_lock(objects_, frame, thread.wait.futex)) {
      thread.awaited = {.kind = Kind::kLock,
                        .type = lock->type,
                        .name = lock->name,
                        .by_tid = tid_of(lock->owner)};
      if (thread.awaited.by_tid == 0) unknown_holders_[lock->address].push_back(i);
    }
  }

  // A plain lock does not know who holds it, but who is within `with` of it does. Not so above
  // Condition.wait(), which gives the lock back for as long.
  void find_entered(size_t i) {
    for (const StackFrame& frame : stacks_[i].frames) {
      if (is_of_threading(frame, "Condition.wait")) return;
    }
    for (const StackFrame& frame : stacks_[i].frames) {
      for (const uint64_t lock : sample::find_entered_locks(objects_, frame)) {
        const auto waiting = unknown_holders_.find(lock);
        if (waiting == unknown_holders_.end()) continue;
        for (const size_t waiter : waiting->second) {
          threads_[waiter].awaited.by_tid = threads_[i].tid;
          threads_[waiter].awaited.is_entered = true;
        }
      }
    }
  }

  sample::RemoteObjects& objects_;
  const sample::CodeTable& codes_;
  const std::vector<ThreadStack>& stacks_;
  std::vector<DumpThread>& threads_;
  std::unordered_map<uint64_t, std::vector<size_t>> unknown_holders_;  // waiting, by lock
};

}  // namespace

void find_awaited(sample::RemoteObjects& objects, const sample::CodeTable& codes,
                  const std::vector<sample::ThreadStack>& stacks,
                  std::vector<DumpThread>& threads) {
  Waits(objects, codes, stacks, threads).find();
}

}  // namespace stepscope::cli
