// ObjectLayout: where a version of CPython keeps what is inside its objects: dicts, types,
// generators, asyncio's tasks. What is the same in all versions from 3.8 to 3.13 are constants.
//
//   const ObjectLayout& layout = object_layout(python.layout().version);
#pragma once

#include <cstdint>

#include "collect/sample/python_layout.h"

namespace stepscope::sample {

// All versions. Of an object; of those with a length, of that.
inline constexpr uint32_t kObjectType = 8;
inline constexpr uint32_t kObjectLength = 16;
inline constexpr uint32_t kFirstMember = 16;  // of a cell, weak reference, iterator of a future
inline constexpr uint32_t kTupleItems = 24;
inline constexpr uint32_t kListItems = 24;  // a pointer to them
inline constexpr uint32_t kBytesData = 32;
inline constexpr uint32_t kDigits = 24;
inline constexpr uint32_t kFloatValue = 16;
inline constexpr uint32_t kModuleDict = 16;
inline constexpr uint32_t kModuleName = 48;
inline constexpr uint32_t kExceptionArguments = 24;
inline constexpr uint32_t kMethodFunction = 16;

struct TypeOffsets {
  static constexpr uint32_t kName = 24, kBasicSize = 32, kItemSize = 40, kFlags = 168;
  static constexpr uint32_t kBase = 256, kDict = 264, kDictOffset = 288, kEnd = 296;
};
// Bits of a type's flags.
inline constexpr uint64_t kTypeHasInlineValues = 1u << 2;  // 3.13
inline constexpr uint64_t kTypeHasManagedDict = 1u << 4;   // 3.11 on
inline constexpr uint64_t kTypeIsOnHeap = 1u << 9;
inline constexpr uint64_t kIntType = 1u << 24;
inline constexpr uint64_t kListType = 1u << 25;
inline constexpr uint64_t kTupleType = 1u << 26;
inline constexpr uint64_t kBytesType = 1u << 27;
inline constexpr uint64_t kTextType = 1u << 28;
inline constexpr uint64_t kDictType = 1u << 29;
inline constexpr uint64_t kExceptionType = 1u << 30;
inline constexpr uint64_t kTypeType = 1u << 31;

struct DictOffsets {
  static constexpr uint32_t kUsed = 16, kKeys = 32, kValues = 40, kEnd = 48;
};
struct SetOffsets {
  static constexpr uint32_t kUsed = 24, kMask = 32, kTable = 40, kEnd = 48;
};
struct FutureOffsets {
  static constexpr uint32_t kLoop = 16, kFirstCallback = 24;
};

// How an object with a dict of its own keeps it.
enum class ManagedDict : uint8_t {
  kNone,          // to 3.10: only where the type says
  kTwoPointers,   // 3.11: values and dict, before the object
  kTaggedOne,     // 3.12: one of both, by the lowest bit
  kInlineValues,  // 3.13: values behind the object, the dict before it
};

struct ObjectLayout {
  bool has_tagged_int;  // 3.12 on: number of digits and sign in one word
  bool has_small_keys;  // 3.11 on: dict keys with a kind and sizes as powers of two
  ManagedDict managed_dict;
  struct {
    uint32_t qualified_name, cached_keys;  // of those on the heap
  } type;
  struct {
    uint32_t qualified_name, closure;
  } function;
  struct {
    uint32_t arguments, keyword_arguments, flags;
    uint32_t bytecode, free_names, cell_names;  // to 3.10
  } code;
  struct {
    uint32_t names, stack, stack_top, state;  // names: a dict, of modules and classes
  } frame;
  struct {
    uint32_t state, waits_for, coroutine, name;
  } task;
};

// Of 3.8 to 3.13; of another, that of the nearest.
const ObjectLayout& object_layout(PythonVersion version);

}  // namespace stepscope::sample
