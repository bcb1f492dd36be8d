// What `stepscope dump` knows of a process: its threads with their stacks at one moment, and its
// asyncio tasks. Made by dump_process(), printed by dump_text() or dump_json().
//
//   Result<ProcessDump> dump = dump_process(pid, {.with_locals = true});
//   std::string text = dump_text(*dump, {.columns = 80});
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/thread_wait.h"

namespace stepscope::cli {

struct DumpOptions {
  bool with_locals = false;
  bool with_native = false;
  bool pause = false;  // the process stands still for the look
};

struct DumpVariable {
  std::string name;
  std::string value;
  bool is_argument = false;
};

struct DumpFrame {
  std::string name;
  std::string file;
  int32_t line = 0;
  bool is_native = false;
  std::vector<DumpVariable> locals;
  uint64_t locals_left_out = 0;

  bool is_same_place(const DumpFrame& other) const {
    return line == other.line && name == other.name && file == other.file;
  }
};

// What a thread waits for, in the program's words, where that is certain.
struct DumpAwaited {
  enum class Kind : uint8_t {
    kNothing,
    kGil,
    kLock,
    kCondition,   // to be told that something has happened: Event, Queue, Condition
    kThread,      // its end
    kAllThreads,  // the ends of all others
  };

  Kind kind = Kind::kNothing;
  std::string type;         // of a lock: "_thread.RLock"
  std::string name;         // of a lock: "self._lock"; empty where it is not known
  int32_t by_tid = 0;       // who holds the lock, or whose end it is; 0: not known
  bool is_entered = false;  // known by the holder's being within `with`
};

struct DumpThread {
  int32_t tid = 0;
  std::string name;
  uint64_t interpreter = 0;
  ThreadWait wait;
  DumpAwaited awaited;
  bool has_stood_still = false;  // it waited in the same call all the while
  bool holds_gil = false;
  bool is_python = true;          // else Python knows nothing of it; has native frames only
  bool is_read = false;           // else no consistent stack could be had
  std::vector<DumpFrame> frames;  // the innermost first
};

struct DumpTask {
  uint64_t id = 0;  // from 1 on, in their order
  std::string name;
  std::string state;                // running, ready, waiting
  int32_t tid = 0;                  // of the thread that runs its loop; 0: not known
  std::string awaits;               // the type of a future that is no task
  std::vector<uint64_t> waits_for;  // ids of tasks
  std::vector<DumpFrame> frames;    // the innermost first
};

struct ProcessDump {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string python;  // "3.11"
  std::string binary;
  std::string command_line;
  pid_t debugger = 0;  // that is attached to it
  bool is_paused = false;
  std::vector<DumpThread> threads;
  uint64_t native_threads = 0;  // that Python knows nothing of, and that are not in `threads`
  std::vector<DumpTask> tasks;
  bool has_all_locals = true;  // else there were too many
  // What can be said for certain of a program that hangs; one sentence each.
  std::vector<std::string> remarks;
};

// Fails where the process is no Python program that can be read.
Result<ProcessDump> dump_process(pid_t pid, const DumpOptions& options);

// See ProcessDump.
std::vector<std::string> find_remarks(const ProcessDump& dump);

struct DumpFault {
  pid_t pid = 0;
  std::string message;
};

struct DumpStyle {
  size_t columns = 80;
  bool has_color = false;
};

std::string dump_text(const ProcessDump& dump, const DumpStyle& style);
// Which process started which, a line each.
std::string dump_tree_text(const std::vector<ProcessDump>& dumps, const DumpStyle& style);
// One JSON object (docs/sampling.md).
std::string dump_json(const std::vector<ProcessDump>& dumps, const std::vector<DumpFault>& faults);

// "train.py:12 main": what sentences say of a frame; its file without folders.
std::string short_place(const DumpFrame& frame);
// "thread 4711 (MainThread)".
std::string describe_thread(const DumpThread& thread);

}  // namespace stepscope::cli
