#include "collect/sample/await_chain.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace stepscope::sample {
namespace {

constexpr size_t kMaxAwaits = 1000;

constexpr uint8_t kYieldFrom = 72;           // to 3.10
constexpr uint8_t kResume = 151;             // 3.11, 3.12
constexpr uint8_t kResumeQuick = 150;        // 3.11
constexpr uint8_t kFirstInstrumented = 237;  // 3.12
constexpr uint8_t kResumeFromYieldFrom = 2;  // its least argument where something is awaited

struct Suspended {
  StackFrame frame;
  uint64_t awaits = 0;  // 0: nothing
  bool is_running = false;
};

// To 3.10: the frame is an object.
std::optional<Suspended> read_with_frame_object(RemoteObjects& objects, uint64_t generator) {
  const PythonLayout& layout = objects.python().layout();
  const auto& frame_layout = objects.layout().frame;
  const bool counts_words = layout.version.minor == 10;
  const uint64_t frame = objects.read_pointer(generator + kFirstMember);
  int32_t last = 0;
  if (!objects.read(frame + layout.frame.instruction, last)) return std::nullopt;
  if (counts_words && last > 0) last = last > (1 << 29) ? -1 : 2 * last;
  Suspended result;
  result.frame.code = objects.read_pointer(frame + layout.frame.code);
  result.frame.address = frame;
  result.frame.instruction = last;
  result.frame.is_generator = true;
  if (result.frame.code == 0) return std::nullopt;
  int8_t state = 0;
  if (counts_words) {
    if (!objects.read(frame + frame_layout.state, state)) return std::nullopt;
    result.is_running = state == 0;
  } else {
    if (!objects.read(generator + kFirstMember + 8, state)) return std::nullopt;
    result.is_running = state != 0;
  }
  if (result.is_running || last < 0) return result;
  uint8_t next = 0;
  const uint64_t bytecode =
      objects.read_pointer(result.frame.code + objects.layout().code.bytecode);
  if (!objects.read(bytecode + kBytesData + static_cast<uint64_t>(last) + 2, next)) return result;
  if (next != kYieldFrom) return result;
  uint64_t top = 0;
  if (counts_words) {
    int32_t depth = 0;
    if (!objects.read(frame + frame_layout.stack_top, depth) || depth <= 0) return result;
    top = objects.read_pointer(frame + frame_layout.stack) + 8 * static_cast<uint64_t>(depth);
  } else {
    top = objects.read_pointer(frame + frame_layout.stack_top);
  }
  result.awaits = objects.read_pointer(top - 8);
  return result;
}

// 3.11, 3.12: what it is to go on with tells whether it awaits something.
bool is_awaiting(const RemoteObjects& objects, uint64_t instruction) {
  std::array<uint8_t, 2> next;
  if (!objects.read(instruction + 2, next) || next[1] < kResumeFromYieldFrom) return false;
  if (next[0] == kResume) return true;
  return objects.python().layout().version.minor == 11 ? next[0] == kResumeQuick
                                                       : next[0] >= kFirstInstrumented;
}

// From 3.11 on: the frame is within the generator.
std::optional<Suspended> read_with_frame_inside(RemoteObjects& objects, uint64_t generator) {
  const PythonLayout& layout = objects.python().layout();
  const bool tells_by_state = layout.version.minor >= 13;
  const int8_t created = tells_by_state ? -3 : -2;
  int8_t state = 0;
  if (!objects.read(generator + layout.generator.frame_state, state)) return std::nullopt;
  if (state < created || state > 0) return std::nullopt;  // it has ended
  const uint64_t frame = generator + layout.generator.iframe;
  uint64_t instruction = 0;
  int32_t stack_top = 0;
  Suspended result;
  result.frame.code = objects.read_pointer(frame + layout.frame.code);
  result.frame.address = frame;
  result.frame.is_generator = true;
  result.is_running = state == 0;
  if (result.frame.code == 0 || !objects.read(frame + layout.frame.instruction, instruction) ||
      !objects.read(frame + objects.layout().frame.stack_top, stack_top)) {
    return std::nullopt;
  }
  const uint64_t first = result.frame.code + layout.code.instructions;
  const bool has_begun = state != created && instruction >= first;
  result.frame.instruction =
      has_begun ? static_cast<int32_t>(std::min<uint64_t>(instruction - first, INT32_MAX)) : -1;
  if (result.is_running || !has_begun || stack_top <= 0 || stack_top > 1 << 20) return result;
  if (tells_by_state ? state == -1 : is_awaiting(objects, instruction)) {
    const uint64_t top = static_cast<uint64_t>(stack_top) - 1;
    result.awaits = objects.read_pointer(frame + layout.frame.locals + 8 * top);
  }
  return result;
}

std::optional<Suspended> read_suspended(RemoteObjects& objects, uint64_t generator) {
  return objects.python().layout().version.minor >= 11 ? read_with_frame_inside(objects, generator)
                                                       : read_with_frame_object(objects, generator);
}

bool has_frame(std::string_view type) {
  return type == "coroutine" || type == "generator" || type == "async_generator";
}

// What stands between a coroutine and what it awaits: each has that as its first member.
bool is_between(std::string_view type) {
  constexpr std::array<std::string_view, 4> kTypes = {"coroutine_wrapper", "async_generator_asend",
                                                      "async_generator_athrow", "anext_awaitable"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

}  // namespace

AwaitChain read_await_chain(RemoteObjects& objects, uint64_t coroutine) {
  AwaitChain chain;
  uint64_t at = coroutine;
  for (size_t steps = 0; at != 0 && steps < kMaxAwaits; ++steps) {
    const auto type = objects.type_of(at);
    if (!type) break;
    if (is_between(type->name)) {
      at = objects.read_pointer(at + kFirstMember);
      continue;
    }
    if (!has_frame(type->name)) {
      chain.awaits =
          type->name == "_asyncio.FutureIter" ? objects.read_pointer(at + kFirstMember) : at;
      break;
    }
    const auto suspended = read_suspended(objects, at);
    if (!suspended) break;
    if (suspended->is_running) chain.is_running = true;
    chain.frames.push_back(suspended->frame);
    at = suspended->awaits;
  }
  std::reverse(chain.frames.begin(), chain.frames.end());
  return chain;
}

}  // namespace stepscope::sample
