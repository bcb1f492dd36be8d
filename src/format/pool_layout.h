// The pool: the side file of a live recording, where threads leave their records until the drain
// has sealed them in blocks of the .sscope file. It is mapped shared, so that what was recorded
// outlives the program. docs/format.md, "The pool", is normative.
//
//   pool = header (4096 bytes), two journals, chunk, chunk, ...
//
// Everything here may be changed by the recording process while another one reads it. A chunk and a
// journal carry a generation: it is odd while they go from one use to the next, and another one
// afterwards. Who copies them compares it before and after, and discards the copy where it changed:
// what was in it is then in the .sscope file. So a reader copies chunks first, then journals, and
// looks at the file last.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stepscope::format {

inline constexpr std::array<uint8_t, 8> kPoolMagic = {0x89, 'S', 'S', 'P', 'O', 'O', 'L', '\n'};
inline constexpr uint32_t kPoolVersion = 1;

inline constexpr uint32_t kPoolHeaderBytes = 4096;
inline constexpr uint32_t kJournalBytes = 256 * 1024;  // each of the two, with its header
inline constexpr uint32_t kJournals = 2;
inline constexpr uint32_t kChunkBytes = 16 * 1024;
inline constexpr uint32_t kChunkHeaderBytes = 64;
inline constexpr uint32_t kChunkWords = (kChunkBytes - kChunkHeaderBytes) / 8;
// Rounded up, so that a chunk never crosses a page more than it must.
inline constexpr uint64_t kChunksOffset =
    (kPoolHeaderBytes + kJournals * kJournalBytes + kChunkBytes - 1) / kChunkBytes * kChunkBytes;

struct PoolHeader {
  std::array<uint8_t, 8> magic = kPoolMagic;
  uint32_t version = kPoolVersion;
  uint32_t journal_bytes = kJournalBytes;
  uint32_t chunk_bytes = kChunkBytes;
  uint32_t reserved = 0;
  uint64_t file_id = 0;     // the .sscope file's
  int64_t pid = 0;          // of the recording process, as it sees itself
  uint64_t start_time = 0;  // field 22 of /proc/<pid>/stat: tells a later process of the same pid
  std::atomic<uint32_t> chunk_count{0};  // chunks that the file has room for; only grows
  std::atomic<uint32_t> reserved_2{0};
  std::atomic<uint64_t> dropped{0};  // records dropped that no chunk and no block tells of yet
};
static_assert(sizeof(PoolHeader) == 64);

// Definitions that are not in the .sscope file yet.
struct JournalHeader {
  std::atomic<uint64_t> generation{0};
  std::atomic<uint32_t> committed{0};  // bytes of entries after this header
  uint32_t reserved = 0;
};
static_assert(sizeof(JournalHeader) == 16);

enum class JournalEntryType : uint8_t {
  kString = 1,  // id; the text follows the entry
  kLabel = 2,   // id, name, category, kind
  kTrack = 3,   // id, name, category (the series of a counter), unit, kind, number (tid)
};

// An entry begins at a multiple of 8; `bytes` is a multiple of 8 and includes this header, the text
// and the zeros after it.
struct JournalEntry {
  uint32_t bytes = 0;
  JournalEntryType type{};
  uint8_t kind = 0;  // of a label or track, as in blocks
  uint16_t reserved = 0;
  uint32_t text_bytes = 0;  // kString
  uint32_t id = 0;
  uint32_t name = 0;      // string id
  uint32_t category = 0;  // string id
  uint32_t unit = 0;      // string id
  uint32_t reserved_2 = 0;
  int64_t number = 0;
};
static_assert(sizeof(JournalEntry) == 40);

// A stretch of one thread's records. Followed by kChunkWords words.
struct ChunkHeader {
  std::atomic<uint64_t> generation{0};
  uint64_t first_word = 0;  // words that the thread has written before this chunk
  uint64_t first_tick = 0;  // the first record's delta counts from here
  uint64_t dropped = 0;     // records that were dropped right before this chunk
  uint32_t stream = 0;
  uint32_t track = 0;
  uint32_t context = 0;                // of the first record
  std::atomic<uint32_t> is_used{0};    // 1 once the fields above hold
  std::atomic<uint32_t> committed{0};  // whole records: words that may be read
  uint32_t reserved = 0;
  uint64_t reserved_2 = 0;
};
static_assert(sizeof(ChunkHeader) == kChunkHeaderBytes);

// Subtypes of kExtended records, and the words that follow them.
enum class ExtendedRecord : uint32_t {
  // address, bytes, device (type << 32 | index); then, where the allocator tells, the bytes that it
  // has handed out in all and those that it holds
  kAllocate = 1,
  kFree = 2,
  kFlowBegin = 3,  // flow id: an arrow leaves the slice that is open here
  kFlowEnd = 4,    // flow id: it arrives at the slice that is open here
  kLeftOut = 5,    // calls that were too short to be recorded, before this on any thread
  // Details of the slice that was opened last:
  kOperator = 6,  // autograd's sequence number; forward thread << 32 | own thread, torch's numbers
  kInputs = 7,    // halves: its inputs, see trace/operator_inputs.h; more in the next such record
  // Slices that do not nest:
  kAsyncBegin = 8,  // id, label
  kAsyncEnd = 9,    // id
};

// An instant of this category: from here on a profiler of its name ran beside the recorder.
inline constexpr std::string_view kOtherProfilersCategory = "concurrent_profilers";

}  // namespace stepscope::format
