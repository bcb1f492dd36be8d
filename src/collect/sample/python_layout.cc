#include "collect/sample/python_layout.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>

namespace stepscope::sample {
namespace {

// offsetof() of CPython's own headers, x86-64 and arm64 alike.
constexpr PythonLayout k38 = {
    .version = {3, 8},
    .top = PythonLayout::Top::kFrameObject,
    .runtime = {.interpreters_head = 32, .gil = 1152},
    .interpreter = {.next = 0, .id = 16, .threads_head = 8, .modules = 56, .gil = kNowhere},
    .gil = {.last_holder = 8, .locked = 16},
    .thread = {.next = 8,
               .interpreter = 16,
               .pthread = 176,
               .native_id = kNowhere,
               .id = 256,
               .top = 24,
               .datastack_chunk = kNowhere,
               .size = 264},
    .cframe = {.current_frame = kNowhere, .size = 0},
    .frame = {.code = 32,
              .previous = 24,
              .function = kNowhere,
              .instruction = 104,
              .stack_top = kNowhere,
              .owner = kNowhere,
              .is_entry = kNowhere,
              .locals = 360,
              .size = 112},
    .code = {.first_line = 40,
             .file = 104,
             .name = 112,
             .qualified_name = kNowhere,
             .line_table = 120,
             .instructions = kNowhere,
             .frame_slots = kNowhere,
             .locals_count = 28,
             .stack_size = 32,
             .local_names = 72,
             .local_kinds = kNowhere,
             .size = 128},
    .generator = {.iframe = kNowhere, .frame_state = kNowhere},
    .unicode = {.length = 16, .hash = 24, .state = 32, .ascii_size = 48, .compact_size = 72},
};

constexpr PythonLayout make_39() {
  PythonLayout layout = k38;
  layout.version = {3, 9};
  layout.runtime.gil = 352;
  layout.interpreter.id = 24;
  layout.interpreter.modules = 856;
  return layout;
}

constexpr PythonLayout make_310() {
  PythonLayout layout = make_39();
  layout.version = {3, 10};
  layout.frame.instruction = 96;
  layout.frame.locals = 352;
  return layout;
}

constexpr PythonLayout k311 = {
    .version = {3, 11},
    .top = PythonLayout::Top::kCFrame,
    .runtime = {.interpreters_head = 40, .gil = 360},
    .interpreter = {.next = 0, .id = 48, .threads_head = 16, .modules = 888, .gil = kNowhere},
    .gil = {.last_holder = 8, .locked = 16},
    .thread = {.next = 8,
               .interpreter = 16,
               .pthread = 152,
               .native_id = 160,
               .id = 240,
               .top = 56,
               .datastack_chunk = 296,
               .size = 304},
    .cframe = {.current_frame = 8, .size = 24},
    .frame = {.code = 32,
              .previous = 48,
              .function = 0,
              .instruction = 56,
              .stack_top = 64,
              .owner = 69,
              .is_entry = 68,
              .locals = 72,
              .size = 72},
    .code = {.first_line = 72,
             .file = 112,
             .name = 120,
             .qualified_name = 128,
             .line_table = 136,
             .instructions = 184,
             .frame_slots = kNowhere,
             .locals_count = 76,
             .stack_size = 68,
             .local_names = 96,
             .local_kinds = 104,
             .size = 144},
    .generator = {.iframe = 80, .frame_state = 75},
    .unicode = {.length = 16, .hash = 24, .state = 32, .ascii_size = 48, .compact_size = 72},
};

constexpr PythonLayout k312 = {
    .version = {3, 12},
    .top = PythonLayout::Top::kCFrame,
    .runtime = {.interpreters_head = 40, .gil = kNowhere},
    .interpreter = {.next = 0, .id = 8, .threads_head = 72, .modules = 944, .gil = 384},
    .gil = {.last_holder = 8, .locked = 16},
    .thread = {.next = 8,
               .interpreter = 16,
               .pthread = 136,
               .native_id = 144,
               .id = 224,
               .top = 56,
               .datastack_chunk = 232,
               .size = 240},
    .cframe = {.current_frame = 0, .size = 16},
    .frame = {.code = 0,
              .previous = 8,
              .function = 16,
              .instruction = 56,
              .stack_top = 64,
              .owner = 70,
              .is_entry = kNowhere,
              .locals = 72,
              .size = 72},
    .code = {.first_line = 68,
             .file = 112,
             .name = 120,
             .qualified_name = 128,
             .line_table = 136,
             .instructions = 192,
             .frame_slots = 76,
             .locals_count = 72,
             .stack_size = 64,
             .local_names = 96,
             .local_kinds = 104,
             .size = 144},
    .generator = {.iframe = 72, .frame_state = 67},
    .unicode = {.length = 16, .hash = 24, .state = 32, .ascii_size = 40, .compact_size = 56},
};

constexpr std::array kKnown = {k38, make_39(), make_310(), k311, k312};

// The members of 3.13's _Py_DebugOffsets in order, all 8 bytes.
enum DebugOffset : size_t {
  kCookie = 0,
  kVersion,
  kFreeThreaded,
  kRuntimeSize,
  kRuntimeFinalizing,
  kRuntimeInterpretersHead,
  kInterpreterSize,
  kInterpreterId,
  kInterpreterNext,
  kInterpreterThreadsHead,
  kInterpreterGc,
  kInterpreterModules,
  kInterpreterSysdict,
  kInterpreterBuiltins,
  kInterpreterGil,
  kGilState,
  kGilEnabled,
  kGilLocked,
  kGilHolder,
  kThreadSize,
  kThreadPrevious,
  kThreadNext,
  kThreadInterpreter,
  kThreadCurrentFrame,
  kThreadPthread,
  kThreadNativeId,
  kThreadDatastackChunk,
  kThreadStatus,
  kFrameSize,
  kFramePrevious,
  kFrameExecutable,
  kFrameInstruction,
  kFrameLocals,
  kFrameOwner,
  kCodeSize,
  kCodeFile,
  kCodeName,
  kCodeQualifiedName,
  kCodeLineTable,
  kCodeFirstLine,
  kCodeArgumentCount,
  kCodeLocalNames,
  kCodeLocalKinds,
  kCodeInstructions,
  kDebugOffsetCount,
};

constexpr char kDebugCookie[] = "xdebugpy";
constexpr uint64_t kMaxOffset = 1 << 24;
constexpr uint32_t kMaxSize = 1 << 16;

// What is copied as a whole has its members inside.
bool is_covered(const PythonLayout& layout) {
  const auto are_in = [](uint32_t size, std::initializer_list<uint32_t> members) {
    return size <= kMaxSize && std::all_of(members.begin(), members.end(), [size](uint32_t member) {
             return member + sizeof(uint64_t) <= size;
           });
  };
  const auto& thread = layout.thread;
  const auto& frame = layout.frame;
  const auto& code = layout.code;
  return are_in(thread.size, {thread.next, thread.interpreter, thread.pthread, thread.native_id,
                              thread.id, thread.top, thread.datastack_chunk}) &&
         are_in(frame.size, {frame.code, frame.previous, frame.function, frame.instruction}) &&
         frame.owner < frame.size && frame.stack_top + sizeof(int32_t) <= frame.size &&
         are_in(code.size, {code.file, code.name, code.qualified_name, code.line_table}) &&
         code.first_line + sizeof(int32_t) <= code.size;
}

}  // namespace

std::string to_text(PythonVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

std::string explain_unknown(PythonVersion version) {
  return "Python " + to_text(version) + "; known are 3.8 to 3.13" +
         (version >= PythonVersion{3, 13} ? ": a newer stepscope may know it" : "");
}

const PythonLayout* find_layout(PythonVersion version) {
  for (const PythonLayout& layout : kKnown) {
    if (layout.version == version) return &layout;
  }
  return nullptr;
}

Result<PythonLayout> read_debug_offsets(PythonVersion version, std::span<const uint8_t> bytes) {
  std::array<uint64_t, kDebugOffsetCount> offsets;
  if (bytes.size() < sizeof(offsets)) return Status::error("it tells no offsets");
  std::memcpy(offsets.data(), bytes.data(), sizeof(offsets));
  if (std::memcmp(bytes.data(), kDebugCookie, 8) != 0) {
    return Status::error("it tells no offsets; is it still starting?");
  }
  if (offsets[kFreeThreaded] != 0) {
    return Status::error("a free-threaded Python " + to_text(version) +
                         "; only those with a GIL can be sampled: start the program with the "
                         "usual build");
  }
  if (version != PythonVersion{3, 13}) {
    return Status::error(explain_unknown(version));
  }
  for (size_t i = kFreeThreaded + 1; i < kDebugOffsetCount; ++i) {
    if (offsets[i] >= kMaxOffset) return Status::error("its offsets are damaged");
  }
  const auto at = [&](DebugOffset member) { return static_cast<uint32_t>(offsets[member]); };
  PythonLayout layout = k312;
  layout.version = version;
  layout.top = PythonLayout::Top::kCurrentFrame;
  layout.runtime.interpreters_head = at(kRuntimeInterpretersHead);
  layout.interpreter = {.next = at(kInterpreterNext),
                        .id = at(kInterpreterId),
                        .threads_head = at(kInterpreterThreadsHead),
                        .modules = at(kInterpreterModules),
                        .gil = at(kInterpreterGil)};
  layout.gil = {.last_holder = 8, .locked = 16};
  layout.thread = {.next = at(kThreadNext),
                   .interpreter = at(kThreadInterpreter),
                   .pthread = at(kThreadPthread),
                   .native_id = at(kThreadNativeId),
                   .id = 224,
                   .top = at(kThreadCurrentFrame),
                   .datastack_chunk = at(kThreadDatastackChunk),
                   .size = at(kThreadSize)};
  layout.cframe = {.current_frame = kNowhere, .size = 0};
  layout.frame.code = at(kFrameExecutable);
  layout.frame.previous = at(kFramePrevious);
  layout.frame.instruction = at(kFrameInstruction);
  layout.frame.locals = at(kFrameLocals);
  layout.frame.owner = at(kFrameOwner);
  layout.frame.size = at(kFrameLocals);
  layout.code.first_line = at(kCodeFirstLine);
  layout.code.file = at(kCodeFile);
  layout.code.name = at(kCodeName);
  layout.code.qualified_name = at(kCodeQualifiedName);
  layout.code.line_table = at(kCodeLineTable);
  layout.code.local_names = at(kCodeLocalNames);
  layout.code.local_kinds = at(kCodeLocalKinds);
  layout.code.instructions = at(kCodeInstructions);
  if (!is_covered(layout)) return Status::error("its offsets are damaged");
  return layout;
}

}  // namespace stepscope::sample
