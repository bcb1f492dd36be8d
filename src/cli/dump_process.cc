// Reads what a dump shows of one process.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/process_stat.h"
#include "cli/dump.h"
#include "cli/dump_native.h"
#include "cli/dump_waits.h"
#include "collect/sample/async_tasks.h"
#include "collect/sample/code_table.h"
#include "collect/sample/frame_locals.h"
#include "collect/sample/kernel_threads.h"
#include "collect/sample/lock_waits.h"
#include "collect/sample/python_process.h"
#include "collect/sample/remote_objects.h"
#include "collect/sample/stack_reader.h"
#include "collect/sample/thread_names.h"
#include "collect/sample/thread_pause.h"

namespace stepscope::cli {
namespace {

using sample::KernelThread;
using sample::StackFrame;
using sample::ThreadStack;

// A stack that changes at each look is looked at again, for a tenth of a second or so.
constexpr int kMaxLooks = 50;
constexpr std::chrono::milliseconds kBetweenLooks{2};
constexpr size_t kMaxLocalsOfFrame = 50;
constexpr size_t kMaxLocals = 5000;  // of a process

class ProcessReader {
 public:
  ProcessReader(sample::PythonProcess python, const DumpOptions& options)
      : python_(std::move(python)),
        options_(options),
        codes_(python_),
        reader_(python_, codes_),
        objects_(python_),
        names_(objects_),
        pause_(python_.pid()) {}

  Result<ProcessDump> read();

 private:
  Status hold();
  Status read_stacks();
  void read_waits();
  void read_waits_again();
  void take_what_it_does_now(DumpThread& thread, const ThreadWait& now);
  void forget_moving_holders();
  void add_threads();
  void add_frames(DumpThread& thread, const ThreadStack& stack);
  void add_locals(DumpFrame& frame, const StackFrame& place);
  void add_tasks();
  void add_native_threads();
  void merge_native_frames();
  bool is_of_python(int32_t tid) const;
  DumpFrame describe_frame(const StackFrame& frame) const;
  int32_t tid_of(const ThreadStack& stack) const;
  std::string name_of(const ThreadStack& stack, int32_t tid) const;
  std::string describe() const { return "process " + std::to_string(python_.pid()); }

  sample::PythonProcess python_;
  const DumpOptions& options_;
  sample::CodeTable codes_;
  sample::StackReader reader_;
  sample::RemoteObjects objects_;
  sample::ThreadNames names_;
  sample::ThreadPause pause_;
  std::optional<DumpNative> natives_;
  std::vector<KernelThread> kernel_threads_;
  std::unordered_map<int32_t, ThreadWait> waits_;  // by tid
  std::vector<ThreadStack> stacks_;                // in the order of `dump_.threads`
  size_t locals_ = 0;
  ProcessDump dump_;
};

pid_t read_debugger(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  constexpr std::string_view kTracer = "TracerPid:";
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with(kTracer)) return std::atoi(line.c_str() + kTracer.size());
  }
  return 0;
}

Result<ProcessDump> ProcessReader::read() {
  const pid_t pid = python_.pid();
  dump_.pid = pid;
  dump_.parent = read_process_stat(std::to_string(pid)).parent;
  dump_.python = sample::to_text(python_.layout().version);
  dump_.binary = python_.binary();
  dump_.command_line = sample::read_command_line(pid);
  dump_.debugger = read_debugger(pid);
  kernel_threads_ = sample::read_kernel_threads(pid);
  read_waits();
  if (const Status held = hold(); !held) return held;
  if (const Status read = read_stacks(); !read) return read;
  if (natives_) natives_->capture(pause_.stopped());
  add_threads();
  add_tasks();
  find_awaited(objects_, codes_, stacks_, dump_.threads);
  if (natives_) add_native_threads();
  read_waits_again();
  pause_.resume();
  if (natives_) merge_native_frames();
  if (!python_.is_there()) return Status::error(describe() + ": it has ended");
  dump_.remarks = find_remarks(dump_);
  return std::move(dump_);
}

Status ProcessReader::hold() {
  if (!options_.pause && !options_.with_native) return {};
  if (options_.with_native) natives_.emplace(python_);
  if (const Status held = pause_.pause(); !held) return held;
  dump_.is_paused = pause_.is_whole();
  reader_.set_paused(dump_.is_paused);
  return {};
}

Status ProcessReader::read_stacks() {
  std::vector<ThreadStack> look;
  size_t fewest_torn = SIZE_MAX;
  for (int looks = 0; looks < kMaxLooks && fewest_torn > 0; ++looks) {
    if (looks > 0) {
      std::this_thread::sleep_for(kBetweenLooks);
      reader_.expect_changes();
    }
    if (!reader_.read(look)) {
      return Status::error(
          describe() + (python_.is_there() ? ": it has become another program" : ": it has ended"));
    }
    const auto torn = static_cast<size_t>(std::count_if(
        look.begin(), look.end(), [](const ThreadStack& stack) { return stack.is_torn; }));
    if (torn >= fewest_torn) continue;
    fewest_torn = torn;
    stacks_ = look;
  }
  // The main thread first, then as they were made.
  std::sort(stacks_.begin(), stacks_.end(), [](const ThreadStack& a, const ThreadStack& b) {
    return std::pair(a.interpreter, a.thread_id) < std::pair(b.interpreter, b.thread_id);
  });
  return {};
}

void ProcessReader::read_waits() {
  for (const KernelThread& thread : kernel_threads_) {
    waits_[thread.tid] = read_thread_wait(python_.pid(), thread.tid);
  }
}

// What a thread waits in is told of the stack that was read where it is the same before and after.
void ProcessReader::read_waits_again() {
  for (DumpThread& thread : dump_.threads) {
    const ThreadWait now = read_thread_wait(python_.pid(), thread.tid);
    const bool is_same_call = thread.wait.is_waiting() && now.call == thread.wait.call &&
                              now.futex == thread.wait.futex && now.on == thread.wait.on;
    thread.has_stood_still =
        is_same_call && (now.runs == thread.wait.runs || now.state == ThreadWait::State::kTraced);
    if (!thread.has_stood_still) take_what_it_does_now(thread, now);
  }
  forget_moving_holders();
}

void ProcessReader::take_what_it_does_now(DumpThread& thread, const ThreadWait& now) {
  thread.awaited = {};
  // Of one that is held for the look, what it was at before.
  const bool is_held = dump_.is_paused && now.state == ThreadWait::State::kTraced;
  if (!is_held) thread.wait = now;
  // One that wants the GIL wakes 200 times a second to ask for it.
  if (!now.is_waiting() && !is_held) return;
  if (now.futex == 0 || !sample::is_gil(objects_, now.futex)) return;
  thread.wait = now;
  thread.wait.state = ThreadWait::State::kWaiting;
  thread.awaited.kind = DumpAwaited::Kind::kGil;
}

// Whether a thread is within `with` is certain only where it did not go on.
void ProcessReader::forget_moving_holders() {
  if (dump_.is_paused) return;
  for (DumpThread& thread : dump_.threads) {
    if (!thread.awaited.is_entered) continue;
    const bool stands_still =
        std::any_of(dump_.threads.begin(), dump_.threads.end(), [&](const DumpThread& holder) {
          return holder.tid == thread.awaited.by_tid && holder.has_stood_still;
        });
    if (!stands_still) thread.awaited.by_tid = 0;
  }
}

int32_t ProcessReader::tid_of(const ThreadStack& stack) const {
  const auto found =
      std::find_if(kernel_threads_.begin(), kernel_threads_.end(),
                   [&](const KernelThread& thread) { return thread.own_tid == stack.tid; });
  return found == kernel_threads_.end() ? stack.tid : found->tid;
}

std::string ProcessReader::name_of(const ThreadStack& stack, int32_t tid) const {
  if (const std::string* name = names_.find(stack.pthread)) return *name;
  // Python names it when `threading` is imported; the kernel's name is the program's.
  if (tid == python_.pid()) return "MainThread";
  const auto found = std::find_if(kernel_threads_.begin(), kernel_threads_.end(),
                                  [&](const KernelThread& thread) { return thread.tid == tid; });
  return found == kernel_threads_.end() ? "" : found->name;
}

void ProcessReader::add_threads() {
  names_.refresh();
  for (const ThreadStack& stack : stacks_) {
    DumpThread thread;
    thread.tid = tid_of(stack);
    thread.name = name_of(stack, thread.tid);
    thread.interpreter = stack.interpreter;
    thread.wait = waits_[thread.tid];
    thread.holds_gil = stack.holds_gil;
    thread.is_read = !stack.is_torn;
    add_frames(thread, stack);
    dump_.threads.push_back(std::move(thread));
  }
  dump_.native_threads = static_cast<uint64_t>(
      std::count_if(kernel_threads_.begin(), kernel_threads_.end(),
                    [&](const KernelThread& known) { return !is_of_python(known.tid); }));
}

bool ProcessReader::is_of_python(int32_t tid) const {
  return std::any_of(dump_.threads.begin(), dump_.threads.end(), [&](const DumpThread& thread) {
    return thread.is_python && thread.tid == tid;
  });
}

void ProcessReader::add_native_threads() {
  for (const KernelThread& known : kernel_threads_) {
    if (is_of_python(known.tid)) continue;
    DumpThread thread{.tid = known.tid, .name = known.name, .wait = waits_[known.tid]};
    thread.is_python = false;
    thread.is_read = true;
    dump_.threads.push_back(std::move(thread));
  }
  dump_.native_threads = 0;
}

void ProcessReader::merge_native_frames() {
  for (size_t i = 0; i < dump_.threads.size(); ++i) {
    DumpThread& thread = dump_.threads[i];
    if (!thread.is_read) continue;
    const std::span<const StackFrame> frames = i < stacks_.size()
                                                   ? std::span<const StackFrame>(stacks_[i].frames)
                                                   : std::span<const StackFrame>();
    natives_->merge(thread.tid, frames, thread.frames);
  }
}

DumpFrame ProcessReader::describe_frame(const StackFrame& frame) const {
  const sample::Code* code = codes_.find(frame.code);
  if (code == nullptr) return {.name = "?"};
  // One that has not begun is where it will.
  const int32_t line = frame.instruction < 0 ? code->first_line : code->line(frame.instruction);
  return {.name = code->name, .file = code->file, .line = line};
}

void ProcessReader::add_frames(DumpThread& thread, const ThreadStack& stack) {
  for (const StackFrame& frame : stack.frames) {
    thread.frames.push_back(describe_frame(frame));
    add_locals(thread.frames.back(), frame);
  }
}

void ProcessReader::add_locals(DumpFrame& frame, const StackFrame& place) {
  if (!options_.with_locals || !dump_.has_all_locals) return;
  if (locals_ >= kMaxLocals) {
    dump_.has_all_locals = false;
    return;
  }
  for (sample::LocalVariable& local : sample::read_locals(objects_, place)) {
    if (frame.locals.size() == kMaxLocalsOfFrame) {
      ++frame.locals_left_out;
      continue;
    }
    frame.locals.push_back({std::move(local.name), std::move(local.text), local.is_argument});
  }
  locals_ += frame.locals.size();
}

void ProcessReader::add_tasks() {
  const std::vector<sample::AsyncTask> tasks = sample::read_async_tasks(objects_);
  std::unordered_map<uint64_t, uint64_t> ids;
  std::vector<uint64_t> addresses;
  for (const sample::AsyncTask& task : tasks) {
    ids.emplace(task.address, ids.size() + 1);
    for (const StackFrame& frame : task.frames) addresses.push_back(frame.code);
  }
  if (!addresses.empty()) codes_.check(addresses);
  for (const sample::AsyncTask& task : tasks) {
    DumpTask shown{.id = ids[task.address], .name = task.name, .awaits = task.awaits};
    shown.state = sample::to_text(task.state);
    for (size_t i = 0; i < stacks_.size(); ++i) {
      if (task.pthread != 0 && stacks_[i].pthread == task.pthread) shown.tid = dump_.threads[i].tid;
    }
    for (const uint64_t other : task.waits_for) shown.waits_for.push_back(ids[other]);
    for (const StackFrame& frame : task.frames) {
      shown.frames.push_back(describe_frame(frame));
      add_locals(shown.frames.back(), frame);
    }
    dump_.tasks.push_back(std::move(shown));
  }
}

}  // namespace

Result<ProcessDump> dump_process(pid_t pid, const DumpOptions& options) {
  auto python = sample::PythonProcess::find(pid);
  if (!python) return python.status();
  return ProcessReader(*std::move(python), options).read();
}

}  // namespace stepscope::cli
