// A dump for eyes, as wide as the terminal.
#include <algorithm>
#include <string_view>

#include "analyze/utf8.h"
#include "cli/dump.h"
#include "cli/dump_lines.h"
#include "cli/dump_tasks_text.h"

namespace stepscope::cli {
namespace {

using Kind = DumpAwaited::Kind;

constexpr size_t kShownRepeats = 3;

std::string held_by(const DumpThread& thread) {
  if (thread.awaited.by_tid == 0) return "";
  if (thread.awaited.by_tid == thread.tid) return ", held by itself";
  return ", held by thread " + std::to_string(thread.awaited.by_tid);
}

std::string describe_awaited(const DumpThread& thread) {
  const DumpAwaited& awaited = thread.awaited;
  switch (awaited.kind) {
    case Kind::kGil:
      return "waiting for the GIL";
    case Kind::kLock:
      return "waiting for " + (awaited.name.empty() ? "a lock" : "the lock " + awaited.name) +
             held_by(thread);
    case Kind::kCondition:
      return "waiting to be notified";
    case Kind::kThread:
      return "waiting for the end of " +
             (awaited.by_tid == 0 ? "a thread" : "thread " + std::to_string(awaited.by_tid));
    case Kind::kAllThreads:
      return "waiting for the other threads to end";
    case Kind::kNothing:
      break;
  }
  return describe(thread.wait);
}

void append_thread(DumpLines& lines, const DumpThread& thread) {
  std::string title = "Thread " + std::to_string(thread.tid);
  if (!thread.name.empty()) title += " " + printable(thread.name);
  if (thread.interpreter != 0) title += " in interpreter " + std::to_string(thread.interpreter);
  std::string state = printable(describe_awaited(thread));
  if (thread.holds_gil) state += ", holds the GIL";
  lines.add_title(title, state, thread.holds_gil);
  if (!thread.is_read) {
    lines.add_dim(1, "its stack changed whenever it was looked at; --pause holds it");
  } else if (thread.frames.empty()) {
    lines.add_dim(1, thread.is_python ? "no Python on its stack" : "its stack could not be had");
  }
  append_frames(lines, 1, thread.frames);
}

std::string native_threads_text(uint64_t count) {
  return count == 1 ? "1 more thread runs no Python; --native shows it"
                    : std::to_string(count) + " more threads run no Python; --native shows them";
}

// The depth of a process below the first one that is shown.
size_t depth_of(const std::vector<ProcessDump>& dumps, const ProcessDump& dump) {
  size_t depth = 0;
  const ProcessDump* at = &dump;
  while (depth < dumps.size()) {
    const auto parent = std::find_if(dumps.begin(), dumps.end(), [&](const ProcessDump& other) {
      return other.pid == at->parent;
    });
    if (parent == dumps.end()) break;
    at = &*parent;
    ++depth;
  }
  return depth;
}

}  // namespace

void append_frames(DumpLines& lines, size_t level, const std::vector<DumpFrame>& frames) {
  size_t repeats = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    const DumpFrame& frame = frames[i];
    const bool is_repeat = i > 0 && frame.is_same_place(frames[i - 1]) && frame.locals.empty();
    repeats = is_repeat ? repeats + 1 : 0;
    if (repeats < kShownRepeats) lines.add_frame(level, frame);
    const bool is_last = i + 1 == frames.size() || !frames[i + 1].is_same_place(frame) ||
                         !frames[i + 1].locals.empty();
    if (is_last && repeats >= kShownRepeats) {
      lines.add_dim(level,
                    "… the same " + std::to_string(repeats - kShownRepeats + 1) + " times more");
    }
    for (const DumpVariable& local : frame.locals) {
      lines.add_plain(level + 1, printable(local.name) + " = " + printable(local.value));
    }
    if (frame.locals_left_out > 0) {
      lines.add_dim(level + 1, "… " + std::to_string(frame.locals_left_out) + " more");
    }
  }
}

std::string dump_text(const ProcessDump& dump, const DumpStyle& style) {
  DumpLines lines(style);
  lines.add_title("Process " + std::to_string(dump.pid), printable(dump.command_line), false);
  lines.add_dim(0, "Python " + dump.python + " (" + printable(dump.binary) + ")" +
                       (dump.is_paused ? ", held for the look" : ""));
  for (const DumpThread& thread : dump.threads) {
    lines.add_empty();
    append_thread(lines, thread);
  }
  if (dump.threads.empty()) lines.add_dim(0, "No thread runs Python yet.");
  if (dump.native_threads > 0) {
    lines.add_empty();
    lines.add_dim(0, native_threads_text(dump.native_threads));
  }
  append_tasks(lines, dump);
  if (!dump.has_all_locals) {
    lines.add_empty();
    lines.add_dim(0,
                  "More local variables than a dump shows: those of the last frames are left "
                  "out.");
  }
  if (!dump.remarks.empty()) lines.add_empty();
  for (const std::string& remark : dump.remarks) lines.add_remark(printable(remark));
  return std::move(lines).text();
}

std::string dump_tree_text(const std::vector<ProcessDump>& dumps, const DumpStyle& style) {
  DumpLines lines(style);
  for (const ProcessDump& dump : dumps) {
    const size_t threads = dump.threads.size();
    lines.add_plain(depth_of(dumps, dump),
                    std::to_string(dump.pid) + " " + printable(dump.command_line) + " (" +
                        std::to_string(threads) + (threads == 1 ? " thread)" : " threads)"));
  }
  return std::move(lines).text();
}

}  // namespace stepscope::cli
