#include "collect/sample/frame_locals.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace stepscope::sample {
namespace {

constexpr size_t kMaxLocals = 200;
constexpr size_t kMaxLocalNameCharacters = 100;
constexpr uint32_t kIsOptimized = 0x1, kHasArguments = 0x4, kHasKeywords = 0x8;  // of a code

struct Slot {
  std::string name;
  uint64_t object = 0;
  bool is_argument = false;
};

bool is_still_there(RemoteObjects& objects, const StackFrame& frame) {
  return frame.code != 0 &&
         objects.read_pointer(frame.address + objects.python().layout().frame.code) == frame.code;
}

struct CodeShape {
  uint32_t flags = 0;
  size_t arguments = 0;
};

std::optional<CodeShape> read_shape(const RemoteObjects& objects, uint64_t code) {
  const auto& layout = objects.layout().code;
  uint32_t flags = 0, arguments = 0, keyword_arguments = 0;
  if (!objects.read(code + layout.flags, flags) ||
      !objects.read(code + layout.arguments, arguments) ||
      !objects.read(code + layout.keyword_arguments, keyword_arguments)) {
    return std::nullopt;
  }
  size_t count = size_t{arguments} + keyword_arguments;
  if ((flags & kHasArguments) != 0) ++count;
  if ((flags & kHasKeywords) != 0) ++count;
  return CodeShape{flags, count};
}

// The names that a code has for its slots, in their order.
std::vector<uint64_t> read_names(RemoteObjects& objects, uint64_t code) {
  std::vector<uint64_t> names;
  const auto add = [&](uint32_t offset) {
    const auto items = objects.read_items(objects.read_pointer(code + offset), kMaxLocals).items;
    names.insert(names.end(), items.begin(), items.end());
  };
  add(objects.python().layout().code.local_names);
  if (objects.layout().code.cell_names != kNowhere) {
    add(objects.layout().code.cell_names);
    add(objects.layout().code.free_names);
  }
  return names;
}

uint64_t through_cell(RemoteObjects& objects, uint64_t object) {
  const auto type = object != 0 ? objects.type_of(object) : std::nullopt;
  return type && type->name == "cell" ? objects.read_pointer(object + kFirstMember) : object;
}

std::vector<Slot> read_slots(RemoteObjects& objects, const StackFrame& frame,
                             const CodeShape& shape) {
  const std::vector<uint64_t> names = read_names(objects, frame.code);
  std::vector<uint64_t> values(names.size());
  const std::span bytes(reinterpret_cast<uint8_t*>(values.data()), values.size() * 8);
  std::vector<Slot> slots;
  if (values.empty() ||
      !objects.read(frame.address + objects.python().layout().frame.locals, bytes)) {
    return slots;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    auto name = objects.read_text(names[i], kMaxLocalNameCharacters);
    if (!name) continue;
    Slot slot{std::move(name->utf8), through_cell(objects, values[i]), i < shape.arguments};
    // To 3.10 an argument that a closure uses has a slot of its own and another for its cell.
    const auto same = std::find_if(slots.begin(), slots.end(),
                                   [&](const Slot& other) { return other.name == slot.name; });
    if (same == slots.end()) {
      slots.push_back(std::move(slot));
    } else if (same->object == 0) {
      same->object = slot.object;
    }
  }
  return slots;
}

// What a dict of names has that a reader would call a variable.
std::vector<Slot> read_named(RemoteObjects& objects, const StackFrame& frame) {
  const uint64_t names = objects.read_pointer(frame.address + objects.layout().frame.names);
  std::vector<Slot> slots;
  for (const DictValue::Entry& entry : objects.read_dict(names, 4 * kMaxLocals).entries) {
    auto name = objects.read_text(entry.key, kMaxLocalNameCharacters);
    if (!name || name->utf8.starts_with("__")) continue;
    const auto type = objects.type_of(entry.value);
    if (!type || objects.derives_from(*type, "module") || objects.derives_from(*type, "type") ||
        type->name == "function" || type->name == "builtin_function_or_method") {
      continue;
    }
    slots.push_back({std::move(name->utf8), entry.value, false});
  }
  return slots;
}

std::vector<Slot> read_all_slots(RemoteObjects& objects, const StackFrame& frame) {
  if (!is_still_there(objects, frame)) return {};
  const auto shape = read_shape(objects, frame.code);
  if (!shape) return {};
  auto slots = (shape->flags & kIsOptimized) != 0 ? read_slots(objects, frame, *shape)
                                                  : read_named(objects, frame);
  if (!is_still_there(objects, frame)) return {};
  return slots;
}

}  // namespace

std::vector<LocalVariable> read_locals(RemoteObjects& objects, const StackFrame& frame,
                                       const TextLimits& limits) {
  std::vector<LocalVariable> locals;
  for (Slot& slot : read_all_slots(objects, frame)) {
    if (slot.object == 0) continue;
    if (locals.size() == kMaxLocals) break;
    locals.push_back(
        {std::move(slot.name), object_text(objects, slot.object, limits), slot.is_argument});
  }
  return locals;
}

uint64_t find_local(RemoteObjects& objects, const StackFrame& frame, std::string_view name) {
  for (const Slot& slot : read_all_slots(objects, frame)) {
    if (slot.name == name) return slot.object;
  }
  return 0;
}

}  // namespace stepscope::sample
