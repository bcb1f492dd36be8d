#include "collect/sample/lock_waits.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "collect/sample/exception_table.h"
#include "collect/sample/frame_locals.h"

namespace stepscope::sample {
namespace {

constexpr uint64_t kGilBytes = 208;  // two numbers, the holder, two conditions and mutexes
constexpr uint32_t kCodeNames = 32, kCodeExceptionTable = 40;  // of a code, 3.11 to 3.13
constexpr uint32_t kLockHandle = 16;  // of all types of locks: what the thread waits for
constexpr uint32_t kLockOwner = 24;   // of an RLock
constexpr uint32_t kMethodName = 0;   // of the definition of a method in C
constexpr uint32_t kMethodDefinition = 16, kMethodSelf = 24;  // of such a method, bound
constexpr uint32_t kGlobalsBeforeNames = 16;                  // of a frame
constexpr size_t kMaxSlots = 256;
constexpr size_t kMaxStack = 32;
constexpr size_t kMaxNames = 100;
constexpr size_t kMaxTableBytes = 1 << 16;
constexpr size_t kMaxAttributesTried = 400;

bool is_known(const RemoteObjects& objects) {
  return objects.python().layout().version >= PythonVersion{3, 11};
}

size_t count_locals(RemoteObjects& objects, uint64_t code) {
  const uint64_t names = objects.read_pointer(code + objects.python().layout().code.local_names);
  return objects.read_items(names, 0).length;
}

// The first slots of a frame: its variables, then its stack of values.
std::vector<uint64_t> read_slots(const RemoteObjects& objects, const StackFrame& frame,
                                 size_t count) {
  std::vector<uint64_t> slots(std::min(count, kMaxSlots));
  const std::span bytes(reinterpret_cast<uint8_t*>(slots.data()), slots.size() * 8);
  if (slots.empty() ||
      !objects.read(frame.address + objects.python().layout().frame.locals, bytes)) {
    return {};
  }
  return slots;
}

bool is_waited_for(const RemoteObjects& objects, uint64_t object, uint64_t futex) {
  return object != 0 && objects.read_pointer(object + kLockHandle) == futex;
}

// Itself, or what it is a method of.
uint64_t find_lock(RemoteObjects& objects, uint64_t object, uint64_t futex) {
  if (is_waited_for(objects, object, futex)) return object;
  if (!RemoteObjects::is_address(object)) return 0;
  const uint64_t self = objects.read_pointer(object + kMethodSelf);
  if (!is_waited_for(objects, self, futex)) return 0;
  const auto type = objects.type_of(object);
  return type && type->name == "builtin_function_or_method" ? self : 0;
}

std::vector<std::string> read_texts(RemoteObjects& objects, uint64_t tuple) {
  std::vector<std::string> texts;
  for (const uint64_t item : objects.read_items(tuple, kMaxNames).items) {
    auto text = objects.read_text(item, 100);
    texts.push_back(text ? std::move(text->utf8) : "");
  }
  return texts;
}

// Among the frame's variables, what it uses of their attributes, and its module's names.
std::string find_name(RemoteObjects& objects, const StackFrame& frame, uint64_t lock,
                      const std::vector<uint64_t>& slots) {
  const auto& layout = objects.python().layout();
  const auto locals =
      read_texts(objects, objects.read_pointer(frame.code + layout.code.local_names));
  const size_t count = std::min(locals.size(), slots.size());
  const auto value_of = [&](size_t i) {
    const auto type = slots[i] != 0 ? objects.type_of(slots[i]) : std::nullopt;
    return type && type->name == "cell" ? objects.read_pointer(slots[i] + kFirstMember) : slots[i];
  };
  for (size_t i = 0; i < count; ++i) {
    if (value_of(i) == lock) return locals[i];
  }
  const auto used = read_texts(objects, objects.read_pointer(frame.code + kCodeNames));
  const uint64_t globals =
      objects.read_pointer(frame.address + objects.layout().frame.names - kGlobalsBeforeNames);
  for (const std::string& name : used) {
    if (objects.find_in_dict(globals, name) == lock) return name;
  }
  size_t tried = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t object = value_of(i);
    if (object == 0) continue;
    for (const std::string& name : used) {
      if (++tried > kMaxAttributesTried) return "";
      if (objects.find_attribute(object, name) == lock) return locals[i] + "." + name;
    }
  }
  return "";
}

bool is_lock(std::string_view type) {
  constexpr std::array<std::string_view, 3> kTypes = {"_thread.lock", "_thread.RLock",
                                                      "_multiprocessing.SemLock"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

bool is_called(const RemoteObjects& objects, uint64_t method, std::string_view name) {
  std::array<uint8_t, 16> text{};
  const uint64_t definition = objects.read_pointer(method + kMethodDefinition);
  if (!objects.read(objects.read_pointer(definition + kMethodName), text)) return false;
  return std::string_view(reinterpret_cast<const char*>(text.data()), text.size())
             .substr(0, name.size() + 1) == std::string(name) + '\0';
}

}  // namespace

bool is_gil(const RemoteObjects& objects, uint64_t futex) {
  const PythonLayout& layout = objects.python().layout();
  const auto holds = [&](uint64_t gil) {
    return gil != 0 && futex >= gil && futex - gil < kGilBytes;
  };
  if (layout.interpreter.gil == kNowhere) {
    return holds(objects.python().runtime() + layout.runtime.gil);
  }
  const auto interpreters = objects.find_interpreters();
  return std::any_of(interpreters.begin(), interpreters.end(), [&](uint64_t interpreter) {
    return holds(objects.read_pointer(interpreter + layout.interpreter.gil));
  });
}

std::optional<AwaitedLock> find_awaited_lock(RemoteObjects& objects, const StackFrame& frame,
                                             uint64_t futex) {
  if (!is_known(objects) || futex == 0) return std::nullopt;
  const size_t locals = count_locals(objects, frame.code);
  const std::vector<uint64_t> slots = read_slots(objects, frame, locals + kMaxStack);
  for (const uint64_t slot : slots) {
    const uint64_t address = find_lock(objects, slot, futex);
    const auto type = address != 0 ? objects.type_of(address) : std::nullopt;
    if (!type) continue;
    AwaitedLock lock{.address = address, .type = type->name};
    lock.name = find_name(objects, frame, address, slots);
    if (type->name == "_thread.RLock") lock.owner = objects.read_pointer(address + kLockOwner);
    return lock;
  }
  return std::nullopt;
}

std::vector<uint64_t> find_entered_locks(RemoteObjects& objects, const StackFrame& frame) {
  std::vector<uint64_t> locks;
  if (!is_known(objects)) return locks;
  const auto table =
      objects.read_bytes(objects.read_pointer(frame.code + kCodeExceptionTable), kMaxTableBytes);
  if (!table || table->utf8.empty()) return locks;
  const std::span bytes(reinterpret_cast<const uint8_t*>(table->utf8.data()), table->utf8.size());
  const size_t depth = find_stack_depth(bytes, frame.instruction);
  if (depth == 0) return locks;
  const size_t locals = count_locals(objects, frame.code);
  const std::vector<uint64_t> slots = read_slots(objects, frame, locals + depth);
  for (size_t i = locals; i < slots.size(); ++i) {
    const auto method = slots[i] != 0 ? objects.type_of(slots[i]) : std::nullopt;
    if (!method || method->name != "builtin_function_or_method") continue;
    const uint64_t self = objects.read_pointer(slots[i] + kMethodSelf);
    const auto type = self != 0 ? objects.type_of(self) : std::nullopt;
    if (type && is_lock(type->name) && is_called(objects, slots[i], "__exit__")) {
      locks.push_back(self);
    }
  }
  return locks;
}

uint64_t find_thread_of_self(RemoteObjects& objects, const StackFrame& frame) {
  const uint64_t self = find_local(objects, frame, "self");
  if (self == 0) return 0;
  return objects.read_unsigned(objects.find_attribute(self, "_ident")).value_or(0);
}

}  // namespace stepscope::sample
