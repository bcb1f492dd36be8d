// A dump for scripts (docs/sampling.md).
#include <string_view>
#include <utility>

#include "cli/dump.h"
#include "serve/json_writer.h"

namespace stepscope::cli {
namespace {

using serve::JsonWriter;
using Kind = DumpAwaited::Kind;

// What is not known is null.
void field_if(JsonWriter& json, std::string_view name, std::string_view text) {
  text.empty() ? json.null_field(name) : json.field(name, text);
}
void field_if(JsonWriter& json, std::string_view name, int32_t number) {
  number == 0 ? json.null_field(name) : json.field(name, number);
}

template <typename Items, typename Append>
void append_array(JsonWriter& json, std::string_view name, const Items& items, Append&& append) {
  json.key(name).begin_array();
  for (const auto& item : items) append(json, item);
  json.end_array();
}

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

void append_local(JsonWriter& json, const DumpVariable& local) {
  json.begin_object();
  json.field("name", local.name);
  json.field("value", local.value);
  json.field("argument", local.is_argument);
  json.end_object();
}

void append_frame(JsonWriter& json, const DumpFrame& frame) {
  json.begin_object();
  json.field("function", frame.name);
  json.field("file", frame.file);
  field_if(json, "line", frame.line);
  json.field("native", frame.is_native);
  if (!frame.locals.empty()) {
    append_array(json, "locals", frame.locals, append_local);
    json.field("locals_left_out", frame.locals_left_out);
  }
  json.end_object();
}

void append_awaited(JsonWriter& json, const DumpAwaited& awaited) {
  if (awaited.kind == Kind::kNothing) return json.null_field("waits_for");
  json.key("waits_for").begin_object();
  json.field("kind", to_text(awaited.kind));
  field_if(json, "type", awaited.type);
  field_if(json, "name", awaited.name);
  field_if(json, "tid", awaited.by_tid);
  json.end_object();
}

void append_thread(JsonWriter& json, const DumpThread& thread) {
  json.begin_object();
  json.field("tid", thread.tid);
  field_if(json, "name", thread.name);
  json.field("interpreter", thread.interpreter);
  json.field("state", to_text(thread.wait.state));
  field_if(json, "call", thread.wait.call);
  field_if(json, "on", thread.wait.on);
  append_awaited(json, thread.awaited);
  json.field("holds_gil", thread.holds_gil);
  json.field("python", thread.is_python);
  json.field("read", thread.is_read);
  append_array(json, "frames", thread.frames, append_frame);
  json.end_object();
}

void append_task(JsonWriter& json, const DumpTask& task) {
  json.begin_object();
  json.field("id", task.id);
  json.field("name", task.name);
  json.field("state", task.state);
  field_if(json, "tid", task.tid);
  field_if(json, "awaits", task.awaits);
  append_array(json, "waits_for", task.waits_for,
               [](JsonWriter& to, uint64_t id) { to.value(id); });
  append_array(json, "frames", task.frames, append_frame);
  json.end_object();
}

void append_process(JsonWriter& json, const ProcessDump& dump) {
  json.begin_object();
  json.field("pid", dump.pid);
  json.field("parent_pid", dump.parent);
  json.field("python", dump.python);
  json.field("binary", dump.binary);
  json.field("command", dump.command_line);
  json.field("paused", dump.is_paused);
  append_array(json, "threads", dump.threads, append_thread);
  json.field("native_threads", dump.native_threads);
  append_array(json, "tasks", dump.tasks, append_task);
  json.field("all_locals", dump.has_all_locals);
  append_array(json, "remarks", dump.remarks,
               [](JsonWriter& to, const std::string& remark) { to.value(remark); });
  json.end_object();
}

void append_fault(JsonWriter& json, const DumpFault& fault) {
  json.begin_object();
  json.field("pid", fault.pid);
  json.field("message", fault.message);
  json.end_object();
}

}  // namespace

std::string dump_json(const std::vector<ProcessDump>& dumps, const std::vector<DumpFault>& faults) {
  JsonWriter json;
  json.begin_object();
  append_array(json, "processes", dumps, append_process);
  append_array(json, "faults", faults, append_fault);
  json.end_object();
  return std::move(json).text();
}

}  // namespace stepscope::cli
