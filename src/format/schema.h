// The kinds of block and the columns in them. docs/format.md says for each block which columns it
// has, of which type, and what a missing one means. Ids are never reused; a reader skips unknown
// block types and ignores unknown columns, so both may be added without a new major version.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace stepscope::format {

enum class BlockType : uint16_t {
  kMetadata = 1,      // key, value texts
  kStrings = 2,       // appends to the string table
  kLabels = 3,        // what a slice is called: name, category, kind
  kTracks = 4,        // defines or redefines tracks
  kSlices = 5,        // slices of one track, by start; stream = track
  kArgs = 6,          // values of one argument key; stream = key's string id
  kCounters = 7,      // values over time of one track; stream = track
  kFlows = 8,         // arrows between slices
  kFrames = 9,        // function, file, line
  kStacks = 10,       // nodes of the stack tree
  kSamples = 11,      // stacks seen on one track; stream = track
  kCallEdges = 12,    // caller, callee, calls, times, without a timeline
  kAllocations = 13,  // memory taken and given back
  kStats = 14,        // what was mended, dropped, recovered
  kClock = 15,        // (ticks, monotonic, realtime) triples
  kRecords = 16,      // raw 8-byte records of a live recorder's thread; stream = recorder stream
  kProcesses = 17,    // defines or redefines processes
  kDevices = 18,      // what is known of the devices
  kIndex = 254,       // where all the blocks before it are
  kTrailer = 255,     // where the index is; the last 80 bytes of a finished file
};

// Elements of a column. A text column is two columns: the lengths (type kTextLengths) under its id
// and the bytes (type kU8) under its id + kTextBytesOffset.
enum class ColumnType : uint8_t {
  kU8 = 1,
  kU16 = 2,
  kU32 = 3,
  kU64 = 4,
  kI64 = 5,
  kF64 = 6,
  kTextLengths = 7,
  kI32 = 8,
};

// 0 for a type that this version does not know.
constexpr uint32_t bytes_per_value(ColumnType type) {
  switch (type) {
    case ColumnType::kU8:
      return 1;
    case ColumnType::kU16:
      return 2;
    case ColumnType::kU32:
    case ColumnType::kI32:
    case ColumnType::kTextLengths:
      return 4;
    case ColumnType::kU64:
    case ColumnType::kI64:
    case ColumnType::kF64:
      return 8;
  }
  return 0;
}

inline constexpr uint16_t kTextBytesOffset = 0x8000;

// One name space for all blocks: the same id means the same thing wherever it occurs.
enum class Column : uint16_t {
  kFirstId = 1,        // u64, one value: the id of row 0; row i has first_id + i
  kId = 2,             // u32 (tracks, processes), u64 (flows), i64 (devices)
  kText = 3,           // text (strings; notes of stats)
  kKeyText = 4,        // text (metadata, stats)
  kValueText = 5,      // text (metadata)
  kName = 6,           // u32 string id
  kCategory = 7,       // u32 string id
  kKind = 8,           // u8
  kFlags = 9,          // u8
  kTrack = 10,         // u32 track id
  kParent = 11,        // u32 stack node id
  kProcess = 12,       // u32 process id
  kNumber = 13,        // i64: pid (processes), tid (tracks)
  kNumberText = 14,    // u32 string id: a pid or tid that is a text
  kDeviceStream = 15,  // i64
  kSortIndex = 16,     // i64
  kUnit = 17,          // u32 string id
  kStart = 18,         // i64 ns
  kDur = 19,           // u32 ns; kLongDur: see kLongDurNs
  kLabel = 20,         // u32 label id
  kTime = 21,          // i64 ns
  kSlice = 22,         // u32 slice id
  kSeries = 23,        // u32 string id
  kValueInt = 24,      // i32 or i64
  kValueDouble = 25,   // f64
  kValueString = 26,   // u32 string id
  kValueBool = 27,     // u8
  kValueJson = 28,  // u32 string id of a JSON text: arrays, objects, null, numbers beyond 64 bits
  kFromSlice = 29,  // u32 slice id
  kToSlice = 30,    // u32 slice id
  kFromTime = 31,   // i64 ns
  kToTime = 32,     // i64 ns
  kFile = 33,       // u32 string id
  kLine = 34,       // i32 (frames: where the function begins; stacks: where it stood)
  kProcessLabels = 35,     // u32 string id
  kFrame = 36,             // u32 frame id
  kStack = 37,             // u32 stack node id
  kWeight = 38,            // i64
  kCaller = 39,            // u32 frame id
  kCallee = 40,            // u32 frame id
  kCalls = 41,             // u64
  kPrimitiveCalls = 42,    // u64
  kSelfNs = 43,            // i64
  kTotalNs = 44,           // i64
  kAddress = 45,           // u64
  kSizeBytes = 46,         // i64, below zero when given back
  kAllocatedBytes = 47,    // i64, total on the device after the event
  kReservedBytes = 48,     // i64
  kTicks = 49,             // u64 (clock), u32 tick deltas (records)
  kMonotonicNs = 50,       // i64
  kRealtimeNs = 51,        // i64
  kErrorNs = 52,           // i64
  kTicksPerSecond = 53,    // u64, one value
  kPayload = 54,           // u32, upper halves of records
  kFirstTick = 55,         // u64, one value: the tick from which the block's first delta counts
  kContext = 56,           // u32, one value: the context that the block's first record belongs to
  kOffset = 57,            // u64 (index)
  kBlockType = 58,         // u16 (index)
  kBlockFlags = 59,        // u16 (index)
  kStoredBytes = 60,       // u32 (index)
  kRawBytes = 61,          // u32 (index)
  kRows = 62,              // u32 (index)
  kStream = 63,            // u32 (index)
  kMinNs = 64,             // i64 (index)
  kMaxNs = 65,             // i64 (index)
  kHeaderCrc = 66,         // u32 (index)
  kDropped = 67,           // u64, one value: records lost before this block
  kLongDurRow = 68,        // u32, any number: rows whose kDur is kLongDur, ascending
  kLongDurNs = 69,         // i64, as many: their durations
  kDevice = 70,            // i32 device number, -1: none
  kDeviceType = 71,        // i32 torch's c10::DeviceType
  kCount = 72,             // i64 (stats; samples: ticks of the sampler in the row)
  kFromOffsetNs = 73,      // i64 ns after the start of kFromSlice (flows); missing: kFromTime
  kToOffsetNs = 74,        // i64 ns after the start of kToSlice (flows); missing: kToTime
  kFirstWord = 75,         // u64, one value: words of the recorder thread before this block
  kCpuNs = 76,             // i64 (samples), below 0: unknown
  kTotalMemoryBytes = 80,  // i64, as all up to 90 (devices)
  kComputeMajor = 81,
  kComputeMinor = 82,
  kSmCount = 83,
  kWarpSize = 84,
  kMaxThreadsPerBlock = 85,
  kMaxThreadsPerSm = 86,
  kRegistersPerBlock = 87,
  kRegistersPerSm = 88,
  kSharedMemoryPerBlock = 89,
  kSharedMemoryPerSm = 90,
  // 1024..32767 are for experiments and never defined here; from 32768 on lie the bytes of texts.
};

// In kDur: the duration does not fit into 32 bits.
inline constexpr uint32_t kLongDur = std::numeric_limits<uint32_t>::max();

// "none" in every u32 and u64 id column.
inline constexpr uint32_t kNoneU32 = std::numeric_limits<uint32_t>::max();
inline constexpr uint64_t kNoneU64 = std::numeric_limits<uint64_t>::max();

// Bits of kFlags, by block.
inline constexpr uint8_t kHasSortIndex = 1;   // processes, tracks
inline constexpr uint8_t kHasOwnName = 2;     // tracks: as the program calls it, not the system
inline constexpr uint8_t kSampleHeldGil = 1;  // samples: the thread held Python's global lock
inline constexpr uint8_t kSampleWaited = 2;   // samples: the thread used no CPU
// Samples: calls were recorded as well. It tells the lines in them, and counts for nothing else.
inline constexpr uint8_t kSampleBesideCalls = 4;

constexpr bool is_known(BlockType type) {
  const auto number = static_cast<uint16_t>(type);
  return (number >= 1 && number <= 18) || number == 254 || number == 255;
}

// "slices", "unknown".
std::string_view to_string(BlockType type);

}  // namespace stepscope::format
