#include "ingest/eight_digits.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

TEST(EightDigits, AreReadAsOneNumber) {
  for (const uint64_t value : {0u, 1u, 99u, 12'345'678u, 90'807'060u, 99'999'999u}) {
    std::string text = std::to_string(value);
    text.insert(0, 8 - text.size(), '0');
    EXPECT_EQ(parse_8_digits(load_8_bytes(text.data())), value) << text;
  }
}

TEST(EightDigits, AnyOtherByteInAnyPlaceIsRefused) {
  for (size_t place = 0; place < 8; ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = "90909090";
      text[place] = static_cast<char>(byte);
      const bool is_digit = byte >= '0' && byte <= '9';
      EXPECT_EQ(parse_8_digits(load_8_bytes(text.data())).has_value(), is_digit) << place << byte;
    }
  }
}

}  // namespace
}  // namespace stepscope
