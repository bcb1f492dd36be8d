// ColumnEncoder and ColumnDecoder against each other, and the decoder against columns made by hand.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/bytes.h"
#include "format/column_decoder.h"
#include "format/column_encoder.h"

namespace stepscope::format {
namespace {

struct Encoded {
  ColumnEntry entry;
  std::vector<uint8_t> body;

  ColumnView view() const { return {entry, body}; }
};

template <typename T>
Encoded encode(const std::vector<T>& values, int level = 1) {
  Encoded result;
  ColumnEncoder encoder(level);
  result.entry = encoder.encode(
      1, column_type_of<T>(),
      {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)}, result.body);
  return result;
}

template <typename T>
Encoded expect_round_trip(const std::vector<T>& values) {
  Encoded encoded = encode(values);
  EXPECT_EQ(encoded.entry.values, values.size());
  EXPECT_EQ(encoded.entry.body_bytes, encoded.body.size());
  std::vector<T> decoded(values.size());
  ColumnDecoder decoder;
  const Status status = decoder.decode(encoded.view(), std::span<T>(decoded));
  EXPECT_TRUE(status) << status.message();
  // By bits: NaN and -0.0 must come back as they were.
  if (!values.empty()) {
    EXPECT_EQ(std::memcmp(decoded.data(), values.data(), values.size() * sizeof(T)), 0);
  }
  return encoded;
}

template <typename T>
class IntegerColumn : public testing::Test {};
using IntegerTypes = testing::Types<uint8_t, uint16_t, uint32_t, uint64_t, int32_t, int64_t>;
TYPED_TEST_SUITE(IntegerColumn, IntegerTypes);

TYPED_TEST(IntegerColumn, ComesBackAtEverySizeAndSpread) {
  std::mt19937_64 random(7);
  for (const size_t count : {0, 1, 2, 3, 63, 64, 65, 1000, 5000}) {
    for (int bits = 0; bits <= 64; bits += 4) {
      std::vector<TypeParam> noise(count), rising(count), mixed(count);
      TypeParam last = 0;
      for (size_t i = 0; i < count; ++i) {
        const uint64_t value = bits == 0 ? 0 : random() >> (64 - bits);
        noise[i] = static_cast<TypeParam>(value);
        last = static_cast<TypeParam>(static_cast<uint64_t>(last) + value);
        rising[i] = last;
        mixed[i] = static_cast<TypeParam>(i % 2 == 0 ? value : 0 - value);
      }
      expect_round_trip(noise);
      expect_round_trip(rising);
      expect_round_trip(mixed);
    }
  }
}

TYPED_TEST(IntegerColumn, ComesBackAtItsExtremes) {
  using Limits = std::numeric_limits<TypeParam>;
  expect_round_trip<TypeParam>({Limits::min(), Limits::max()});
  expect_round_trip<TypeParam>({Limits::max(), Limits::min(), Limits::max(), 0, 1});
  std::vector<TypeParam> swing;
  for (int i = 0; i < 3000; ++i) swing.push_back(i % 2 == 0 ? Limits::min() : Limits::max());
  expect_round_trip(swing);
}

TEST(ColumnCodec, ConstantAndEvenlyRisingColumnsTakeNoPlanes) {
  const Encoded constant = expect_round_trip(std::vector<uint32_t>(60000, 123456));
  EXPECT_EQ(constant.entry.width, 0);
  EXPECT_EQ(constant.body.size(), 8U);
  std::vector<int64_t> rising;
  for (int64_t i = 0; i < 60000; ++i) rising.push_back(-5000 + 1000 * i);
  const Encoded even = expect_round_trip(rising);
  EXPECT_EQ(even.entry.width, 0);
  EXPECT_EQ(even.body.size(), 16U);
}

TEST(ColumnCodec, TimestampsTakeLittleMoreThanTheEntropyOfTheirGaps) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int64_t> gap_ns(100, 100000);  // 16.6 bits
  std::vector<int64_t> starts;
  int64_t now_ns = 1700000000000000000;
  for (int i = 0; i < 65536; ++i) starts.push_back(now_ns += gap_ns(random));
  const Encoded encoded = expect_round_trip(starts);
  EXPECT_LT(static_cast<double>(encoded.body.size()) / 65536, 2.25);
}

TEST(ColumnCodec, OneOutlierDoesNotWidenTheRest) {
  std::vector<int64_t> values(65536);
  std::mt19937_64 random(1);
  for (auto& value : values) value = static_cast<int64_t>(random() % 200);
  values[30000] = std::numeric_limits<int64_t>::max();
  const Encoded encoded = expect_round_trip(values);
  EXPECT_LT(encoded.body.size(), 65536U + 1024U);
}

TEST(ColumnCodec, DoublesComeBackBitByBit) {
  using Limits = std::numeric_limits<double>;
  expect_round_trip<double>({0.0, -0.0, 1.5, Limits::infinity(), -Limits::infinity(),
                             Limits::quiet_NaN(), Limits::denorm_min(), Limits::max()});
  std::vector<double> wave;
  for (int i = 0; i < 5000; ++i) wave.push_back(std::sin(i * 0.01));
  expect_round_trip(wave);
}

TEST(ColumnCodec, IntegralDoublesAreStoredAsIntegers) {
  std::vector<double> sizes;
  for (int i = 0; i < 5000; ++i) sizes.push_back(1024.0 * (i % 7) - 512);
  const Encoded encoded = expect_round_trip(sizes);
  EXPECT_EQ(encoded.entry.encoding & kIntegral, kIntegral);
  EXPECT_LE(encoded.entry.width, 2);
  const Encoded with_minus_zero = expect_round_trip<double>({1.0, -0.0, 2.0});
  EXPECT_EQ(with_minus_zero.entry.encoding & kIntegral, 0);
}

TEST(ColumnCodec, IdTypesAreStoredAsTheirNumbers) {
  enum class ThingId : uint32_t {};
  const Encoded encoded = encode<uint32_t>({5, 6, 9});
  std::vector<ThingId> ids(3);
  ColumnDecoder decoder;
  ASSERT_TRUE(decoder.decode(encoded.view(), std::span<ThingId>(ids)));
  EXPECT_EQ(ids, (std::vector<ThingId>{ThingId{5}, ThingId{6}, ThingId{9}}));
}

TEST(ColumnDecoder, AddsUpDifferencesFromTheFirstValue) {
  std::vector<uint8_t> body;
  append_le(body, int64_t{1000});                     // first
  append_le(body, uint64_t{5});                       // base
  body.insert(body.end(), {1, 0, 0, 0, 4, 0, 0, 0});  // raw plane of 4 bytes
  body.insert(body.end(), {99, 10, 20, 0});           // residuals; the first means nothing
  ColumnView column;
  column.entry = {18, ColumnType::kI64, kDelta, 1, 4, static_cast<uint32_t>(body.size())};
  column.body = body;
  std::vector<int64_t> starts(4);
  ColumnDecoder decoder;
  ASSERT_TRUE(decoder.decode(column, std::span<int64_t>(starts)));
  EXPECT_EQ(starts, (std::vector<int64_t>{1000, 1015, 1040, 1045}));
}

TEST(ColumnDecoder, RefusesAnotherTypeOrNumberOfValues) {
  const Encoded encoded = encode<uint32_t>({1, 2, 3});
  ColumnDecoder decoder;
  std::vector<int64_t> wrong_type(3);
  EXPECT_FALSE(decoder.decode(encoded.view(), std::span<int64_t>(wrong_type)));
  std::vector<uint32_t> wrong_number(4);
  EXPECT_FALSE(decoder.decode(encoded.view(), std::span<uint32_t>(wrong_number)));
}

TEST(ColumnDecoder, RefusesEveryCutOfABody) {
  std::mt19937_64 random(3);
  std::vector<int64_t> values(300);
  for (auto& value : values) value = static_cast<int64_t>(random() % 70000);
  const Encoded encoded = encode(values);
  ColumnDecoder decoder;
  for (size_t cut = 0; cut < encoded.body.size(); ++cut) {
    ColumnView view = encoded.view();
    view.body = view.body.first(cut);
    EXPECT_FALSE(decoder.decode(view, std::span<int64_t>(values))) << cut;
  }
}

TEST(ColumnDecoder, RefusesEncodingsAndWidthsItDoesNotKnow) {
  const Encoded encoded = encode<uint32_t>({1, 2, 3});
  std::vector<uint32_t> out(3);
  ColumnDecoder decoder;
  ColumnView view = encoded.view();
  view.entry.encoding = 0x80;
  EXPECT_FALSE(decoder.decode(view, std::span<uint32_t>(out)));
  view = encoded.view();
  view.entry.width = 9;
  EXPECT_FALSE(decoder.decode(view, std::span<uint32_t>(out)));
}

}  // namespace
}  // namespace stepscope::format
