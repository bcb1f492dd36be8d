// What can be said for certain of a program that hangs.
#include <algorithm>
#include <set>
#include <string_view>

#include "cli/dump.h"

namespace stepscope::cli {
namespace {

using Kind = DumpAwaited::Kind;

constexpr size_t kMaxOfAKind = 10;  // sentences that say the same of several threads

const DumpThread* find_thread(const ProcessDump& dump, int32_t tid) {
  const auto found =
      std::find_if(dump.threads.begin(), dump.threads.end(),
                   [&](const DumpThread& thread) { return tid != 0 && thread.tid == tid; });
  return found == dump.threads.end() ? nullptr : &*found;
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
}

// The frame that a user knows: not of the modules that only wait on others' behalf.
const DumpFrame* find_own_frame(const DumpThread& thread) {
  constexpr std::string_view kWaiting[] = {"/threading.py", "/queue.py", "/selectors.py",
                                           "/socket.py", "/ssl.py"};
  for (const DumpFrame& frame : thread.frames) {
    const bool is_waiting =
        frame.is_native || frame.file.find("/multiprocessing/") != std::string::npos ||
        frame.file.find("/concurrent/futures/") != std::string::npos ||
        std::any_of(std::begin(kWaiting), std::end(kWaiting),
                    [&](std::string_view file) { return frame.file.ends_with(file); });
    if (!is_waiting) return &frame;
  }
  const auto first = std::find_if(thread.frames.begin(), thread.frames.end(),
                                  [](const DumpFrame& frame) { return !frame.is_native; });
  return first == thread.frames.end() ? nullptr : &*first;
}

std::string place_of(const DumpThread& thread) {
  const DumpFrame* frame = find_own_frame(thread);
  return frame == nullptr ? "" : " at " + short_place(*frame);
}

std::string describe_lock(const DumpAwaited& awaited) {
  if (!awaited.name.empty()) return "the lock `" + awaited.name + "`";
  return awaited.type == "_multiprocessing.SemLock" ? "a lock of multiprocessing" : "a lock";
}

class Remarks {
 public:
  explicit Remarks(const ProcessDump& dump) : dump_(dump) {}

  std::vector<std::string> find() {
    add_stopped();
    add_deadlocks();
    add_held_gil();
    add_all_wait();
    add_ended_main();
    add_lock_waits();
    add_blocked();
    add_task_cycles();
    return std::move(remarks_);
  }

 private:
  bool has_state(ThreadWait::State state) const {
    return std::any_of(dump_.threads.begin(), dump_.threads.end(),
                       [&](const DumpThread& thread) { return thread.wait.state == state; });
  }

  void add_stopped() {
    if (has_state(ThreadWait::State::kStopped)) {
      remarks_.push_back("The process is stopped by a signal (Ctrl-Z, SIGSTOP); `kill -CONT " +
                         std::to_string(dump_.pid) + "` lets it go on.");
    }
    if (dump_.debugger != 0) {
      remarks_.push_back("Process " + std::to_string(dump_.debugger) +
                         " debugs it and may hold its threads.");
    }
  }

  // Whom a thread waits for, for ever.
  const DumpThread* waits_for(const DumpThread& thread) const {
    const bool is_on_one =
        thread.awaited.kind == Kind::kLock || thread.awaited.kind == Kind::kThread;
    if (!thread.has_stood_still || thread.wait.has_timeout || !is_on_one) return nullptr;
    return find_thread(dump_, thread.awaited.by_tid);
  }

  // Each thread waits for one at most: a ring is found by going on from each.
  void add_deadlocks() {
    std::vector<const DumpThread*> told;
    for (const DumpThread& first : dump_.threads) {
      std::vector<const DumpThread*> ring = {&first};
      const DumpThread* next = waits_for(first);
      while (next != nullptr && next != &first && ring.size() <= dump_.threads.size()) {
        ring.push_back(next);
        next = waits_for(*next);
      }
      if (next != &first || std::find(told.begin(), told.end(), &first) != told.end()) continue;
      told.insert(told.end(), ring.begin(), ring.end());
      std::string text = "Deadlock: ";
      for (const DumpThread* thread : ring) {
        if (thread != ring.front()) text += "; ";
        text += describe_thread(*thread) + " waits" + place_of(*thread) + " for " +
                describe_wait(*thread);
      }
      remarks_.push_back(text + ".");
    }
    in_deadlock_ = std::move(told);
  }

  std::string describe_wait(const DumpThread& thread) const {
    const DumpThread* by = find_thread(dump_, thread.awaited.by_tid);
    if (thread.awaited.kind == Kind::kThread) {
      return by == nullptr ? "the end of a thread" : "the end of " + describe_thread(*by);
    }
    std::string text = describe_lock(thread.awaited);
    if (by == &thread) return text + ", which it holds itself";
    if (by != nullptr) text += ", which " + describe_thread(*by) + " holds";
    return text;
  }

  void add_held_gil() {
    for (const DumpThread& thread : dump_.threads) {
      if (!thread.holds_gil || !thread.has_stood_still || thread.awaited.kind == Kind::kGil) {
        continue;
      }
      remarks_.push_back(capital(describe_thread(thread)) + " holds the GIL while it is " +
                         describe(thread.wait) + place_of(thread) +
                         ": no other thread can run Python.");
    }
  }

  void add_all_wait() {
    const bool do_all_wait =
        dump_.threads.size() > 1 &&
        std::all_of(dump_.threads.begin(), dump_.threads.end(), [](const DumpThread& thread) {
          return !thread.is_python ||
                 (thread.has_stood_still && !thread.holds_gil && thread.awaited.kind != Kind::kGil);
        });
    if (!do_all_wait) return;
    // One that runs several interpreters is there for each.
    std::set<int32_t> tids;
    for (const DumpThread& thread : dump_.threads) {
      if (thread.is_python) tids.insert(thread.tid);
    }
    const size_t count = tids.size();
    if (count > 1) {
      remarks_.push_back("All " + std::to_string(count) +
                         " threads of Python wait, and nobody holds the GIL.");
    }
  }

  void add_ended_main() {
    for (const DumpThread& thread : dump_.threads) {
      if (thread.awaited.kind != Kind::kAllThreads) continue;
      remarks_.push_back("The main program has come to its end; " + describe_thread(thread) +
                         " waits for the other threads to end.");
    }
  }

  void add_lock_waits() {
    size_t told = 0;
    for (const DumpThread& thread : dump_.threads) {
      const bool is_on_one =
          thread.awaited.kind == Kind::kLock || thread.awaited.kind == Kind::kThread;
      if (!thread.has_stood_still || !is_on_one) continue;
      if (std::find(in_deadlock_.begin(), in_deadlock_.end(), &thread) != in_deadlock_.end()) {
        continue;
      }
      if (++told > kMaxOfAKind) continue;
      remarks_.push_back(capital(describe_thread(thread)) + " waits" + place_of(thread) + " for " +
                         describe_wait(thread) + where_holder_is(thread) + ".");
    }
    if (told > kMaxOfAKind) {
      remarks_.push_back(std::to_string(told - kMaxOfAKind) + " more threads wait for locks.");
    }
  }

  std::string where_holder_is(const DumpThread& thread) const {
    const DumpThread* by = find_thread(dump_, thread.awaited.by_tid);
    if (by == nullptr || by == &thread || by->frames.empty()) return "";
    return (thread.awaited.kind == Kind::kThread ? ", which is" : ", itself") + place_of(*by);
  }

  void add_blocked() {
    size_t told = 0;
    for (const DumpThread& thread : dump_.threads) {
      const bool is_blocked =
          thread.has_stood_still && thread.wait.state == ThreadWait::State::kUninterruptible;
      if (!is_blocked || ++told > kMaxOfAKind) continue;
      remarks_.push_back(capital(describe_thread(thread)) + " is " + describe(thread.wait) +
                         place_of(thread) + "; until a disk or a network file system answers, " +
                         "no signal reaches it.");
    }
  }

  // Of tasks that wait for one other: those of gather() and wait() may have more ways to go on.
  void add_task_cycles() {
    const auto next_of = [&](const DumpTask& task) -> const DumpTask* {
      if (task.state != "waiting" || task.waits_for.size() != 1) return nullptr;
      const uint64_t id = task.waits_for[0];
      return id >= 1 && id <= dump_.tasks.size() ? &dump_.tasks[id - 1] : nullptr;
    };
    std::vector<bool> is_told(dump_.tasks.size() + 1);
    for (const DumpTask& first : dump_.tasks) {
      if (is_told[first.id]) continue;
      std::vector<const DumpTask*> path;
      const DumpTask* next = &first;
      while (next != nullptr && !is_told[next->id]) {
        is_told[next->id] = true;
        path.push_back(next);
        next = next_of(*next);
      }
      const auto ring = std::find(path.begin(), path.end(), next);
      if (next == nullptr || ring == path.end()) continue;
      std::string text = "Deadlock of asyncio tasks: ";
      for (auto task = ring; task != path.end(); ++task) text += (*task)->name + " awaits ";
      remarks_.push_back(text + (*ring)->name + ".");
    }
  }

  const ProcessDump& dump_;
  std::vector<const DumpThread*> in_deadlock_;
  std::vector<std::string> remarks_;
};

}  // namespace

std::string short_place(const DumpFrame& frame) {
  const std::string file = frame.file.substr(frame.file.rfind('/') + 1);
  if (frame.line <= 0) return file.empty() ? frame.name : file + " " + frame.name;
  return file + ":" + std::to_string(frame.line) + " " + frame.name;
}

std::string describe_thread(const DumpThread& thread) {
  std::string text = "thread " + std::to_string(thread.tid);
  if (!thread.name.empty()) text += " (" + thread.name + ")";
  return text;
}

std::vector<std::string> find_remarks(const ProcessDump& dump) { return Remarks(dump).find(); }

}  // namespace stepscope::cli
