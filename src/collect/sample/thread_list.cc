#include "collect/sample/thread_list.h"

#include <algorithm>
#include <cstring>

#include "collect/sample/value_at.h"

namespace stepscope::sample {
namespace {

constexpr size_t kMaxInterpreters = 1024;
constexpr size_t kMaxThreads = 1 << 16;
constexpr uint32_t kTidInPthread = 0x2d0;  // glibc, x86-64

}  // namespace

bool ThreadList::walk() {
  const PythonLayout& layout = python_.layout();
  const ProcessMemory& memory = python_.memory();
  interpreters_.clear();
  threads_.clear();
  if (!memory.read(python_.runtime() + layout.runtime.interpreters_head, head_)) return false;
  uint64_t address = head_;
  while (address != 0 && interpreters_.size() < kMaxInterpreters) {
    Interpreter interpreter{.address = address};
    const bool is_read =
        memory.read(address + layout.interpreter.next, interpreter.next) &&
        memory.read(address + layout.interpreter.id, interpreter.id) &&
        memory.read(address + layout.interpreter.threads_head, interpreter.threads_head);
    if (!is_read) return false;
    interpreter.gil = python_.runtime() + layout.runtime.gil;
    if (layout.interpreter.gil != kNowhere &&
        !memory.read(address + layout.interpreter.gil, interpreter.gil)) {
      return false;
    }
    interpreters_.push_back(interpreter);
    if (!walk_threads(interpreter)) return false;
    address = interpreter.next;
  }
  return true;
}

bool ThreadList::walk_threads(const Interpreter& interpreter) {
  const auto& layout = python_.layout().thread;
  std::vector<uint8_t> state(layout.size);
  uint64_t address = interpreter.threads_head;
  while (address != 0 && threads_.size() < kMaxThreads) {
    // A thread that ends just now leaves something else there: the list is walked again next time.
    if (!python_.memory().read(address, state)) break;
    if (value_at<uint64_t>(state.data(), layout.interpreter) != interpreter.address) break;
    threads_.push_back({.state = address,
                        .id = value_at<uint64_t>(state.data(), layout.id),
                        .interpreter = interpreter.id});
    identify(state, threads_.back());
    const auto next = value_at<uint64_t>(state.data(), layout.next);
    if (next == address) break;
    address = next;
  }
  return true;
}

void ThreadList::identify(std::span<const uint8_t> state, KnownThread& thread) const {
  const auto& layout = python_.layout().thread;
  const auto pthread = value_at<uint64_t>(state.data(), layout.pthread);
  if (layout.native_id != kNowhere) {
    thread.tid = static_cast<int32_t>(value_at<uint64_t>(state.data(), layout.native_id));
    thread.pthread = thread.tid != 0 ? pthread : 0;  // the number comes last
    return;
  }
  if (pthread == thread.pthread && thread.tid != 0) return;
  thread.pthread = pthread;
  thread.tid = 0;
#if defined(__x86_64__)
  int32_t tid = 0;
  // The kernel takes the number away from a thread that ends.
  if (!python_.memory().read(pthread + kTidInPthread, tid) || tid <= 0) thread.pthread = 0;
  thread.tid = std::max(tid, 0);
#endif
}

void ThreadList::append_pieces(std::vector<ProcessMemory::Piece>& pieces) {
  const PythonLayout& layout = python_.layout();
  const auto add = [&](uint64_t address, auto& value) {
    pieces.push_back({address, sizeof(value), reinterpret_cast<uint8_t*>(&value)});
  };
  add(python_.runtime() + layout.runtime.interpreters_head, head_now_);
  for (Interpreter& interpreter : interpreters_) {
    add(interpreter.address + layout.interpreter.next, interpreter.next_now);
    add(interpreter.address + layout.interpreter.threads_head, interpreter.threads_head_now);
    add(interpreter.gil, interpreter.gil_now);
  }
}

bool ThreadList::has_changed() const {
  return head_now_ != head_ ||
         std::any_of(interpreters_.begin(), interpreters_.end(), [](const Interpreter& known) {
           return known.next_now != known.next || known.threads_head_now != known.threads_head;
         });
}

bool ThreadList::holds_gil(const KnownThread& thread) const {
  const auto& layout = python_.layout().gil;
  for (const Interpreter& interpreter : interpreters_) {
    const uint8_t* gil = interpreter.gil_now.data();
    const bool is_held = value_at<int32_t>(gil, layout.locked) == 1;
    if (is_held && value_at<uint64_t>(gil, layout.last_holder) == thread.state) return true;
  }
  return false;
}

}  // namespace stepscope::sample
