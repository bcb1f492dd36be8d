// PythonLayout: where a version of CPython keeps what a sampler reads, as offsets into its
// structures. From 3.13 on the interpreter publishes most of them itself (_Py_DebugOffsets); of
// older ones they are known.
//
//   const PythonLayout* layout = find_layout({3, 11});
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"

namespace stepscope::sample {

struct PythonVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const PythonVersion&) const = default;
};
std::string to_text(PythonVersion version);  // "3.11"

inline constexpr uint32_t kNowhere = UINT32_MAX;

struct PythonLayout {
  // How a thread's innermost frame is found.
  enum class Top : uint8_t {
    kFrameObject,   // 3.8 to 3.10: a chain of heap objects
    kCFrame,        // 3.11, 3.12: by a structure on the C stack
    kCurrentFrame,  // 3.13: in the thread state
  };

  PythonVersion version;
  Top top = Top::kCFrame;

  struct {
    uint32_t interpreters_head, gil;  // gil: kNowhere where each interpreter has its own
  } runtime;
  struct {
    uint32_t next, id, threads_head, modules, gil;  // gil: of a pointer; kNowhere: the runtime's
  } interpreter;
  struct {
    uint32_t last_holder, locked;
  } gil;
  struct {
    uint32_t next, interpreter, pthread, native_id, id;  // native_id: kNowhere before 3.11
    uint32_t top;                                        // cframe, current frame or frame object
    uint32_t datastack_chunk;
    uint32_t size;  // that covers all of these
  } thread;
  struct {
    uint32_t current_frame, size;
  } cframe;
  struct {
    uint32_t code, previous, function, instruction, stack_top, owner, is_entry, locals;
    uint32_t size;  // that covers all but the locals
  } frame;
  struct {
    uint32_t first_line, file, name, qualified_name, line_table, instructions;
    uint32_t frame_slots;               // 3.12 on: of a frame, in words
    uint32_t locals_count, stack_size;  // 3.11: of which that is made
    uint32_t local_names, local_kinds;
    uint32_t size;  // that covers all of these
  } code;
  struct {
    uint32_t iframe, frame_state;
  } generator;
  struct {
    uint32_t length, hash, state, ascii_size, compact_size;
  } unicode;
};

// A frame's owner, from 3.11 on.
inline constexpr uint8_t kOwnedByGenerator = 1;
inline constexpr uint8_t kOwnedByCStack = 3;  // 3.12 on: marks where C called Python

// "Python 3.7; known are 3.8 to 3.13"
std::string explain_unknown(PythonVersion version);

// Null where the version is none of 3.8 to 3.12.
const PythonLayout* find_layout(PythonVersion version);

// From 3.13 on: of the bytes at _PyRuntime. Fails where they are not what they should be, or tell
// of an interpreter that is not supported (free-threaded).
inline constexpr size_t kDebugOffsetsBytes = 640;
Result<PythonLayout> read_debug_offsets(PythonVersion version, std::span<const uint8_t> bytes);

}  // namespace stepscope::sample
