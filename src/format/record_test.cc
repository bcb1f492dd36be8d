#include "format/record.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace stepscope::format {
namespace {

TEST(Record, HasItsFieldsWhereTheDrawingSays) {
  const uint64_t word = pack_record(RecordKind::kInstant, 0x0ABCDEF, 0x12345678);
  EXPECT_EQ(word, 0x30ABCDEF'12345678U);
}

TEST(Record, ComesBackForEveryKindAndExtremeValues) {
  for (uint8_t kind = 0; kind < 16; ++kind) {
    for (const uint32_t value : {0U, 1U, kRecordValueMax}) {
      for (const uint32_t ticks : {0U, 1U, UINT32_MAX}) {
        const Record record{static_cast<RecordKind>(kind), value, ticks};
        EXPECT_EQ(unpack_record(pack_record(record.kind, value, ticks)), record);
      }
    }
  }
}

TEST(Record, ValueTooLargeDoesNotTouchTheKind) {
  const Record record = unpack_record(pack_record(RecordKind::kBegin, UINT32_MAX, 0));
  EXPECT_EQ(record.kind, RecordKind::kBegin);
  EXPECT_EQ(record.value, kRecordValueMax);
}

TEST(Record, ExtendedSaysSubtypeAndWords) {
  const uint32_t value = pack_extended(kExtendedSubtypeMax, 255);
  EXPECT_EQ(value, kRecordValueMax);
  EXPECT_EQ(extended_subtype(value), kExtendedSubtypeMax);
  EXPECT_EQ(extended_words(value), 255U);
}

TEST(Record, StreamIsWalkedOverKindsFromTheFuture) {
  const std::vector<uint64_t> words = {
      pack_record(RecordKind::kBegin, 1, 5),
      pack_record(RecordKind::kClockSync, 0, 0),
      0xBFFFFFFF'FFFFFFFF,  // the sync's word: looks like an extended record, and is none
      pack_record(RecordKind{15}, 99, 3),
      pack_record(RecordKind::kExtended, pack_extended(1, 2), 1),
      0,
      0,
      pack_record(RecordKind::kEnd, 0, 7),
  };
  std::vector<RecordKind> kinds;
  for (size_t i = 0; i < words.size(); i += 1 + following_words(words[i])) {
    kinds.push_back(unpack_record(words[i]).kind);
  }
  const std::vector<RecordKind> expected = {RecordKind::kBegin, RecordKind::kClockSync,
                                            RecordKind{15}, RecordKind::kExtended,
                                            RecordKind::kEnd};
  EXPECT_EQ(kinds, expected);
}

TEST(Record, HalvesJoinToTheWord) {
  const uint64_t word = 0x01234567'89ABCDEF;
  EXPECT_EQ(join_halves(lower_half(word), upper_half(word)), word);
}

}  // namespace
}  // namespace stepscope::format
