#include "export/json_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace stepscope {
namespace {

std::string string_of(std::string_view text) {
  std::string to;
  json::append_string(to, text);
  return to;
}
std::string us_of(int64_t ns) {
  std::string to;
  json::append_us(to, ns);
  return to;
}
std::string double_of(double value) {
  std::string to;
  json::append_double(to, value);
  return to;
}

TEST(JsonText, EscapesWhatJsonDoesNotAllow) {
  EXPECT_EQ(string_of("plain"), R"("plain")");
  EXPECT_EQ(string_of("a\"b\\c\n\t\r"), R"("a\"b\\c\n\t\r")");
  EXPECT_EQ(string_of(std::string_view("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
  EXPECT_EQ(string_of("naïve 步 🎯"), "\"naïve 步 🎯\"");
}

TEST(JsonText, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(string_of("a\xff"), "\"a\xEF\xBF\xBD\"");
  EXPECT_EQ(string_of("\xe6\xad"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");  // cut
  EXPECT_EQ(string_of("\xc0\xaf").size(), 8u);                       // longer than needed
  EXPECT_EQ(string_of("\xed\xa0\x80").size(), 11u);                  // half a pair
  EXPECT_EQ(string_of("\xf4\x90\x80\x80").size(), 14u);              // beyond the last
}

TEST(JsonText, WritesNanosecondsExactly) {
  EXPECT_EQ(us_of(0), "0");
  EXPECT_EQ(us_of(1), "0.001");
  EXPECT_EQ(us_of(120), "0.12");
  EXPECT_EQ(us_of(1'234'500), "1234.5");
  EXPECT_EQ(us_of(-1'001), "-1.001");
  EXPECT_EQ(us_of(1'694'039'968'955'744'001), "1694039968955744.001");
  EXPECT_EQ(us_of(std::numeric_limits<int64_t>::min()), "-9223372036854775.808");
}

TEST(JsonText, KeepsDoublesDoublesAndExact) {
  EXPECT_EQ(double_of(3), "3.0");
  EXPECT_EQ(double_of(-0.0), "-0.0");
  EXPECT_EQ(double_of(0.1), "0.1");
  EXPECT_EQ(double_of(1e300), "1e+300");
  EXPECT_EQ(double_of(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(double_of(-std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonText, TellsValuesFromWhatWouldBreakTheFile) {
  for (const char* good : {"1", "-1.5e3", "null", "\"a\\\"b\"", "[]", "{\"a\": [1, {\"b\": null}]}",
                           " [1,2] ", "18446744073709551616"}) {
    EXPECT_TRUE(json::is_value(good)) << good;
  }
  for (const char* bad :
       {"", " ", "[", "[}", "]", "\"a", "\"a\\\"", "[1]]", "{}, \"x\": 1", "\"a\nb\"", "<x>"}) {
    EXPECT_FALSE(json::is_value(bad)) << bad;
  }
}

}  // namespace
}  // namespace stepscope
