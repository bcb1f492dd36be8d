// A dump for scripts (docs/sampling.md).
#include <string_view>

#include "analyze/render_json.h"
#include "cli/dump.h"

namespace stepscope::cli {
namespace {

using Kind = DumpAwaited::Kind;

// Writes members and items with their commas.
class Json {
 public:
  explicit Json(std::string& out) : out_(out) {}

  void open(char bracket) {
    out_ += bracket;
    is_first_ = true;
  }
  void close(char bracket) {
    out_ += bracket;
    is_first_ = false;
  }
  void next() {
    if (!is_first_) out_ += ", ";
    is_first_ = false;
  }
  void line() {
    out_ += is_first_ ? "\n" : ",\n";
    is_first_ = true;
  }
  void key(std::string_view name) {
    next();
    append_json_string(out_, name);
    out_ += ": ";
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    append_json_string(out_, value);
  }
  // Empty is null.
  void text_or_null(std::string_view name, std::string_view value) {
    if (value.empty()) return null(name);
    text(name, value);
  }
  void number(std::string_view name, int64_t value) {
    key(name);
    out_ += std::to_string(value);
  }
  void number_or_null(std::string_view name, int64_t value) {
    if (value == 0) return null(name);
    number(name, value);
  }
  void boolean(std::string_view name, bool value) {
    key(name);
    out_ += value ? "true" : "false";
  }
  void null(std::string_view name) {
    key(name);
    out_ += "null";
  }

  std::string& out() { return out_; }

 private:
  std::string& out_;
  bool is_first_ = true;
};

const char* to_text(Kind kind) {
  switch (kind) {
    case Kind::kGil:
      return "gil";
    case Kind::kLock:
      return "lock";
    case Kind::kCondition:
      return "condition";
    case Kind::kThread:
      return "thread";
    case Kind::kAllThreads:
      return "threads";
    case Kind::kNothing:
      break;
  }
  return "";
}

void append_frame(Json& json, const DumpFrame& frame) {
  json.open('{');
  json.text("function", frame.name);
  json.text("file", frame.file);
  json.number_or_null("line", frame.line);
  json.boolean("native", frame.is_native);
  if (!frame.locals.empty()) {
    json.key("locals");
    json.open('[');
    for (const DumpVariable& local : frame.locals) {
      json.next();
      json.open('{');
      json.text("name", local.name);
      json.text("value", local.value);
      json.boolean("argument", local.is_argument);
      json.close('}');
    }
    json.close(']');
    json.number("locals_left_out", static_cast<int64_t>(frame.locals_left_out));
  }
  json.close('}');
}

void append_frames(Json& json, const std::vector<DumpFrame>& frames) {
  json.key("frames");
  json.open('[');
  for (const DumpFrame& frame : frames) {
    json.line();
    json.out() += "      ";
    append_frame(json, frame);
  }
  json.close(']');
}

void append_awaited(Json& json, const DumpAwaited& awaited) {
  if (awaited.kind == Kind::kNothing) return json.null("waits_for");
  json.key("waits_for");
  json.open('{');
  json.text("kind", to_text(awaited.kind));
  json.text_or_null("type", awaited.type);
  json.text_or_null("name", awaited.name);
  json.number_or_null("tid", awaited.by_tid);
  json.close('}');
}

void append_thread(Json& json, const DumpThread& thread) {
  json.line();
  json.out() += "    ";
  json.open('{');
  json.number("tid", thread.tid);
  json.text_or_null("name", thread.name);
  json.number("interpreter", static_cast<int64_t>(thread.interpreter));
  json.text("state", to_text(thread.wait.state));
  json.text_or_null("call", thread.wait.call);
  json.text_or_null("on", thread.wait.on);
  append_awaited(json, thread.awaited);
  json.boolean("holds_gil", thread.holds_gil);
  json.boolean("python", thread.is_python);
  json.boolean("read", thread.is_read);
  append_frames(json, thread.frames);
  json.close('}');
}

void append_task(Json& json, const DumpTask& task) {
  json.line();
  json.out() += "    ";
  json.open('{');
  json.number("id", static_cast<int64_t>(task.id));
  json.text("name", task.name);
  json.text("state", task.state);
  json.number_or_null("tid", task.tid);
  json.text_or_null("awaits", task.awaits);
  json.key("waits_for");
  json.open('[');
  for (const uint64_t id : task.waits_for) {
    json.next();
    json.out() += std::to_string(id);
  }
  json.close(']');
  append_frames(json, task.frames);
  json.close('}');
}

void append_process(Json& json, const ProcessDump& dump) {
  json.line();
  json.out() += "  ";
  json.open('{');
  json.number("pid", dump.pid);
  json.number("parent_pid", dump.parent);
  json.text("python", dump.python);
  json.text("binary", dump.binary);
  json.text("command", dump.command_line);
  json.boolean("paused", dump.is_paused);
  json.key("threads");
  json.open('[');
  for (const DumpThread& thread : dump.threads) append_thread(json, thread);
  json.close(']');
  json.number("native_threads", static_cast<int64_t>(dump.native_threads));
  json.key("tasks");
  json.open('[');
  for (const DumpTask& task : dump.tasks) append_task(json, task);
  json.close(']');
  json.boolean("all_locals", dump.has_all_locals);
  json.key("remarks");
  json.open('[');
  for (const std::string& remark : dump.remarks) {
    json.next();
    append_json_string(json.out(), remark);
  }
  json.close(']');
  json.close('}');
}

}  // namespace

std::string dump_json(const std::vector<ProcessDump>& dumps, const std::vector<DumpFault>& faults) {
  std::string out;
  Json json(out);
  json.open('{');
  json.key("processes");
  json.open('[');
  for (const ProcessDump& dump : dumps) append_process(json, dump);
  json.close(']');
  json.out() += ",\n ";
  json.open(' ');
  json.key("faults");
  json.open('[');
  for (const DumpFault& fault : faults) {
    json.next();
    json.open('{');
    json.number("pid", fault.pid);
    json.text("message", fault.message);
    json.close('}');
  }
  json.close(']');
  json.close('}');
  out += '\n';
  return out;
}

}  // namespace stepscope::cli
