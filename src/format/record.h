// The 8-byte record: what a live recorder appends to a thread's chunk, and what `records` blocks
// hold. The upper half says what happened, the lower half how many ticks after the record before
// it.
//
//    63    60 59                          32 31                                  0
//   +--------+------------------------------+-------------------------------------+
//   | kind 4 | value 28                     | ticks since the record before, 32   |
//   +--------+------------------------------+-------------------------------------+
//
// Kinds kCounterI64, kCounterF64 and kClockSync are followed by one plain 64-bit word, kExtended by
// as many as it says; no other kind, present or future, is, so that a reader can step over what it
// does not know. A word of zeros is no record: unwritten memory is recognised as such.
//
//   uint64_t record = pack_record(RecordKind::kBegin, label, ticks_since_last);
//   for (size_t i = 0; i < words.size(); i += 1 + following_words(words[i])) ...
#pragma once

#include <cstdint>

namespace stepscope::format {

enum class RecordKind : uint8_t {
  kNone = 0,        // an empty slot; the word is all zeros
  kBegin = 1,       // value: label id. Opens a slice on the current context
  kEnd = 2,         // value: 0, or label id + 1 where the writer has it, for mending lost begins
  kInstant = 3,     // value: label id
  kCounterI64 = 4,  // value: track id; word: the value
  kCounterF64 = 5,  // value: track id; word: the value's bits
  kClockSync = 6,   // value: 0; word: the absolute tick. Comes before a delta would pass 32 bits
  kContext = 7,  // value: context id; what follows belongs to it (greenlets). 0: the thread itself
  kThreadName = 8,  // value: string id of the thread's new name
  kStep = 9,        // value: the number, modulo 2^28, of the training step that ends here
  kDropped =
      10,  // value: records lost here, at most 2^28 - 1; nests are not to be trusted across it
  kExtended = 11,  // value: subtype (20 bits) and number of words (8 bits)
  // 12..15 are free; they will have no words following.
};

inline constexpr int kRecordValueBits = 28;
inline constexpr uint32_t kRecordValueMax = (uint32_t{1} << kRecordValueBits) - 1;
inline constexpr int kExtendedWordBits = 8;
inline constexpr uint32_t kExtendedWordsMax = (uint32_t{1} << kExtendedWordBits) - 1;
inline constexpr uint32_t kExtendedSubtypeMax = (uint32_t{1} << 20) - 1;

struct Record {
  RecordKind kind = RecordKind::kNone;
  uint32_t value = 0;        // 28 bits
  uint32_t ticks_delta = 0;  // since the record before, in the same thread

  bool operator==(const Record&) const = default;
};

// `value` above 28 bits is cut to 28: writers check their ids once, when they are made, not here.
constexpr uint64_t pack_record(RecordKind kind, uint32_t value, uint32_t ticks_delta) {
  return uint64_t{static_cast<uint8_t>(kind)} << 60 | uint64_t{value & kRecordValueMax} << 32 |
         ticks_delta;
}

constexpr Record unpack_record(uint64_t word) {
  return {static_cast<RecordKind>(word >> 60), static_cast<uint32_t>(word >> 32) & kRecordValueMax,
          static_cast<uint32_t>(word)};
}

// The value of a kExtended record.
//
//    27                                     8 7              0
//   +----------------------------------------+----------------+
//   | subtype 20                             | words 8        |
//   +----------------------------------------+----------------+
constexpr uint32_t pack_extended(uint32_t subtype, uint32_t words) {
  return (subtype & kExtendedSubtypeMax) << kExtendedWordBits | (words & kExtendedWordsMax);
}
constexpr uint32_t extended_subtype(uint32_t value) { return value >> kExtendedWordBits; }
constexpr uint32_t extended_words(uint32_t value) { return value & kExtendedWordsMax; }

// Plain words after this record. A reader checks that they are there before it takes them.
constexpr uint32_t following_words(uint64_t word) {
  const Record record = unpack_record(word);
  switch (record.kind) {
    case RecordKind::kCounterI64:
    case RecordKind::kCounterF64:
    case RecordKind::kClockSync:
      return 1;
    case RecordKind::kExtended:
      return extended_words(record.value);
    default:
      return 0;
  }
}

// A records block keeps the halves in columns of their own (kTicks and kPayload): each compresses
// better alone. Plain words are split in the same way.
constexpr uint32_t lower_half(uint64_t word) { return static_cast<uint32_t>(word); }
constexpr uint32_t upper_half(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
constexpr uint64_t join_halves(uint32_t lower, uint32_t upper) {
  return uint64_t{upper} << 32 | lower;
}

static_assert(sizeof(pack_record(RecordKind::kBegin, 0, 0)) == 8);
static_assert(pack_record(RecordKind::kNone, 0, 0) == 0);
static_assert(pack_record(RecordKind::kBegin, 0, 0) != 0, "label 0 at delta 0 is a record");
static_assert(pack_record(RecordKind::kExtended, kRecordValueMax, 0xFFFFFFFF) ==
              0xBFFFFFFF'FFFFFFFF);
static_assert(unpack_record(pack_record(RecordKind::kStep, 123, 456)) ==
              Record{RecordKind::kStep, 123, 456});
static_assert(following_words(pack_record(RecordKind::kExtended, pack_extended(7, 3), 0)) == 3);

}  // namespace stepscope::format
