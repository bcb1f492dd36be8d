#include "base/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace stepscope {
namespace {

TEST(Bytes, AreLittleEndianAtAnyAlignment) {
  std::array<uint8_t, 9> bytes{};
  store_le(bytes.data() + 1, uint64_t{0x0807060504030201});
  for (uint8_t i = 0; i < 9; ++i) EXPECT_EQ(bytes[i], i);
  EXPECT_EQ(load_le<uint32_t>(bytes.data() + 1), 0x04030201U);
}

TEST(Bytes, AlignUpToEight) {
  EXPECT_EQ(align_to_8(0), 0U);
  EXPECT_EQ(align_to_8(1), 8U);
  EXPECT_EQ(align_to_8(8), 8U);
  EXPECT_EQ(align_to_8(9), 16U);
}

TEST(ByteReader, FailsAtTheEndAndStaysFailed) {
  const std::array<uint8_t, 5> bytes = {1, 0, 0, 0, 9};
  ByteReader in(bytes);
  EXPECT_EQ(in.read<uint32_t>(), 1U);
  EXPECT_EQ(in.remaining(), 1U);
  EXPECT_EQ(in.read<uint16_t>(), 0U);
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(in.read<uint8_t>(), 0U);
  EXPECT_EQ(in.offset(), 4U);
}

TEST(ByteReader, RefusesALengthThatWouldOverflow) {
  const std::array<uint8_t, 5> bytes{};
  ByteReader in(bytes);
  in.take(3);
  EXPECT_TRUE(in.take(UINT64_MAX).empty());
  EXPECT_TRUE(in.failed());
}

TEST(ByteReader, TakesNothingWithoutFailing) {
  ByteReader in({});
  EXPECT_TRUE(in.take(0).empty());
  EXPECT_FALSE(in.failed());
}

}  // namespace
}  // namespace stepscope
