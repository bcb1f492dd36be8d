#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace stepscope {
namespace {

std::vector<uint8_t> counting(int from, int step) {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 32; ++i) bytes.push_back(static_cast<uint8_t>(from + step * i));
  return bytes;
}

void expect_crc(const std::vector<uint8_t>& bytes, uint32_t expected) {
  EXPECT_EQ(crc32c(bytes), expected);
  EXPECT_EQ(crc32c_portable(bytes), expected);
}

TEST(Crc32c, AgreesWithTheVectorsOfRfc3720) {
  expect_crc(std::vector<uint8_t>(32, 0x00), 0x8A9136AA);
  expect_crc(std::vector<uint8_t>(32, 0xFF), 0x62A8AB43);
  expect_crc(counting(0, 1), 0x46DD794E);
  expect_crc(counting(31, -1), 0x113FDB5C);
  expect_crc({0x01, 0xC0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
              0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00,
              0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x18, 0x28, 0x00, 0x00, 0x00,
              0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00},
             0xD9963A56);
}

TEST(Crc32c, OfTheUsualCheckStringIsTheKnownValue) {
  constexpr std::string_view kCheck = "123456789";
  expect_crc(std::vector<uint8_t>(kCheck.begin(), kCheck.end()), 0xE3069283);
}

TEST(Crc32c, OfNothingIsZero) { expect_crc({}, 0); }

TEST(Crc32c, InPiecesEqualsTheWholeAtEveryCut) {
  std::mt19937 random(1);
  std::vector<uint8_t> bytes(100);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  const uint32_t whole = crc32c(bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const std::span<const uint8_t> all(bytes);
    EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), whole) << cut;
  }
}

TEST(Crc32c, IsTheSameWithAndWithoutTheInstructionAtEveryLengthAndAlignment) {
  std::mt19937 random(2);
  std::vector<uint8_t> bytes(300);
  for (auto& byte : bytes) byte = static_cast<uint8_t>(random());
  for (size_t from = 0; from < 9; ++from) {
    for (size_t length = 0; from + length <= bytes.size(); ++length) {
      const auto part = std::span<const uint8_t>(bytes).subspan(from, length);
      ASSERT_EQ(crc32c(part), crc32c_portable(part)) << from << " " << length;
    }
  }
}

}  // namespace
}  // namespace stepscope
