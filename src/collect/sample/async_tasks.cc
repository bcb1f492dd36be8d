#include "collect/sample/async_tasks.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "collect/sample/await_chain.h"
#include "collect/sample/frame_locals.h"

namespace stepscope::sample {
namespace {

constexpr size_t kMaxTasks = 10'000;
constexpr size_t kMaxLoops = 1000;
constexpr size_t kMaxWaitedFor = 1000;
constexpr size_t kMaxTaskNameCharacters = 200;

// What a task says of itself, kept by C or, where that is missing, in Python attributes.
struct TaskFields {
  bool is_done = false;
  uint64_t loop = 0, waits_for = 0, coroutine = 0, name = 0;
};

std::optional<TaskFields> read_fields(RemoteObjects& objects, uint64_t task) {
  const auto type = objects.type_of(task);
  if (!type) return std::nullopt;
  TaskFields fields;
  if (objects.derives_from(*type, "_asyncio.Task")) {
    const auto& layout = objects.layout().task;
    int32_t state = 0;
    if (!objects.read(task + layout.state, state)) return std::nullopt;
    fields = {.is_done = state != 0,
              .loop = objects.read_pointer(task + FutureOffsets::kLoop),
              .waits_for = objects.read_pointer(task + layout.waits_for),
              .coroutine = objects.read_pointer(task + layout.coroutine),
              .name = objects.read_pointer(task + layout.name)};
  } else {
    // A task that is not done has the state of its class.
    const auto state = objects.read_text(objects.find_attribute(task, "_state"), 20);
    fields = {.is_done = state && state->utf8 != "PENDING",
              .loop = objects.find_attribute(task, "_loop"),
              .waits_for = objects.find_attribute(task, "_fut_waiter"),
              .coroutine = objects.find_attribute(task, "_coro"),
              .name = objects.find_attribute(task, "_name")};
    if (fields.coroutine == 0) return std::nullopt;
  }
  const auto waiter = fields.waits_for != 0 ? objects.type_of(fields.waits_for) : std::nullopt;
  if (!waiter || waiter->name == "NoneType") fields.waits_for = 0;
  return fields;
}

std::string read_name(RemoteObjects& objects, uint64_t name) {
  if (auto text = objects.read_text(name, kMaxTaskNameCharacters)) return std::move(text->utf8);
  // From 3.12 on only the number, until somebody asks for the name.
  if (const auto number = objects.read_unsigned(name)) return "Task-" + std::to_string(*number);
  return "?";
}

// The first futures of a set, list or tuple.
std::vector<uint64_t> read_futures(RemoteObjects& objects, uint64_t container) {
  auto items = objects.read_set(container, kMaxWaitedFor).items;
  if (items.empty()) items = objects.read_items(container, kMaxWaitedFor).items;
  return items;
}

// All tasks of a process while they are read.
class Reader {
 public:
  explicit Reader(RemoteObjects& objects) : objects_(objects) {}

  std::vector<AsyncTask> read() {
    for (const uint64_t interpreter : objects_.find_interpreters()) find_tasks(interpreter);
    std::vector<AsyncTask> tasks;
    for (const uint64_t address : order_) {
      if (auto task = read_task(address)) tasks.push_back(std::move(*task));
    }
    leave_out_unknown(tasks);
    std::sort(tasks.begin(), tasks.end(), [](const AsyncTask& a, const AsyncTask& b) {
      return std::pair(a.name.size(), std::string_view(a.name)) <
             std::pair(b.name.size(), std::string_view(b.name));
    });
    return tasks;
  }

 private:
  void add(uint64_t task) {
    if (order_.size() < kMaxTasks && known_.insert(task).second) order_.push_back(task);
  }

  void find_tasks(uint64_t interpreter) {
    const uint64_t module = objects_.find_module(interpreter, "asyncio.tasks");
    if (module == 0) return;
    const uint64_t current = objects_.find_in_module(module, "_current_tasks");
    for (const auto& [loop, task] : objects_.read_dict(current, kMaxLoops).entries) {
      running_.insert(task);
      add(task);
    }
    // 3.12 on: those that began to run when they were made.
    const uint64_t eager = objects_.find_in_module(module, "_eager_tasks");
    for (const uint64_t task : objects_.read_set(eager, kMaxTasks).items) add(task);
    // _all_tasks is a function's name from 3.12 on.
    for (const char* name : {"_scheduled_tasks", "_all_tasks"}) {
      const uint64_t tasks = objects_.find_attribute(objects_.find_in_module(module, name), "data");
      for (const uint64_t reference : objects_.read_set(tasks, kMaxTasks).items) {
        if (const uint64_t task = objects_.read_pointer(reference + kFirstMember)) add(task);
      }
    }
  }

  std::optional<AsyncTask> read_task(uint64_t address) {
    const auto fields = read_fields(objects_, address);
    if (!fields || fields->is_done) return std::nullopt;
    AsyncTask task;
    task.address = address;
    task.name = read_name(objects_, fields->name);
    task.loop = fields->loop;
    task.pthread = thread_of(fields->loop);
    AwaitChain chain = read_await_chain(objects_, fields->coroutine);
    if (running_.contains(address)) {
      task.state = AsyncTask::State::kRunning;
      if (!chain.is_running) task.frames = std::move(chain.frames);
      return task;
    }
    task.state = fields->waits_for != 0 ? AsyncTask::State::kWaiting : AsyncTask::State::kReady;
    task.frames = std::move(chain.frames);
    if (fields->waits_for != 0) find_waited_for(task, fields->waits_for);
    return task;
  }

  uint64_t thread_of(uint64_t loop) {
    const auto [known, is_new] = thread_by_loop_.try_emplace(loop, 0);
    if (is_new) {
      const auto ident = objects_.read_unsigned(objects_.find_attribute(loop, "_thread_id"));
      known->second = ident.value_or(0);
    }
    return known->second;
  }

  void find_waited_for(AsyncTask& task, uint64_t future) {
    if (known_.contains(future)) {
      task.waits_for = {future};
      return;
    }
    const auto type = objects_.type_of(future);
    if (!type) return;
    task.awaits = objects_.full_name(*type);
    if (const uint64_t children = objects_.find_attribute(future, "_children")) {
      task.waits_for = read_futures(objects_, children);  // gather()
      return;
    }
    task.waits_for = find_by_callback(future);
    if (!task.waits_for.empty()) return;
    for (const StackFrame& frame : task.frames) {
      task.waits_for = find_by_frame(frame);
      if (!task.waits_for.empty()) return;
    }
  }

  // shield(): the future's callback is a closure over what it shields.
  std::vector<uint64_t> find_by_callback(uint64_t future) {
    std::vector<uint64_t> found;
    const uint64_t callback = objects_.read_pointer(future + FutureOffsets::kFirstCallback);
    const auto type = callback != 0 ? objects_.type_of(callback) : std::nullopt;
    if (!type || type->name != "function") return found;
    const uint64_t closure = objects_.read_pointer(callback + objects_.layout().function.closure);
    for (const uint64_t cell : objects_.read_items(closure, 16).items) {
      const uint64_t object = objects_.read_pointer(cell + kFirstMember);
      if (known_.contains(object)) found.push_back(object);
    }
    return found;
  }

  // Functions of asyncio that wait for several by a future of their own.
  std::vector<uint64_t> find_by_frame(const StackFrame& frame) {
    const auto& layout = objects_.python().layout().code;
    const auto name = objects_.read_text(objects_.read_pointer(frame.code + layout.name), 40);
    if (!name) return {};
    const bool is_wait = name->utf8 == "_wait";
    const bool is_wait_for = name->utf8 == "wait_for" || name->utf8 == "_cancel_and_wait";
    const bool is_group = name->utf8 == "__aexit__" || name->utf8 == "_aexit";
    if (!is_wait && !is_wait_for && !is_group) return {};
    const auto file = objects_.read_text(objects_.read_pointer(frame.code + layout.file), 4096);
    if (!file || file->utf8.find("asyncio") == std::string::npos) return {};
    if (is_wait) return read_futures(objects_, find_local(objects_, frame, "fs"));
    if (is_wait_for) return {find_local(objects_, frame, "fut")};
    const uint64_t group = find_local(objects_, frame, "self");
    return read_futures(objects_, objects_.find_attribute(group, "_tasks"));
  }

  // Futures that are no tasks, and tasks that are done.
  static void leave_out_unknown(std::vector<AsyncTask>& tasks) {
    std::unordered_set<uint64_t> shown;
    for (const AsyncTask& task : tasks) shown.insert(task.address);
    for (AsyncTask& task : tasks) {
      std::erase_if(task.waits_for, [&](uint64_t other) { return !shown.contains(other); });
    }
  }

  RemoteObjects& objects_;
  std::vector<uint64_t> order_;
  std::unordered_set<uint64_t> known_, running_;
  std::unordered_map<uint64_t, uint64_t> thread_by_loop_;
};

}  // namespace

const char* to_text(AsyncTask::State state) {
  switch (state) {
    case AsyncTask::State::kRunning:
      return "running";
    case AsyncTask::State::kReady:
      return "ready";
    case AsyncTask::State::kWaiting:
      return "waiting";
  }
  return "";
}

std::vector<AsyncTask> read_async_tasks(RemoteObjects& objects) { return Reader(objects).read(); }

}  // namespace stepscope::sample
