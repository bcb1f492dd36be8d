#include "ingest/json_text.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

constexpr size_t npos = std::string_view::npos;

TEST(JsonText, MicrosecondsSince1970KeepTheirNanoseconds) {
  EXPECT_EQ(parse_us_as_ns("1700000000123456.789"), 1700000000123456789);
  EXPECT_EQ(parse_us_as_ns("1623143089861123.001"), 1623143089861123001);
  EXPECT_EQ(parse_us_as_ns("\"1700000000123456.789\""), 1700000000123456789);
}

TEST(JsonText, MicrosecondsOfAnyLengthAreRead) {
  EXPECT_EQ(parse_us_as_ns("0"), 0);
  EXPECT_EQ(parse_us_as_ns("-0"), 0);
  EXPECT_EQ(parse_us_as_ns("1"), 1000);
  EXPECT_EQ(parse_us_as_ns("1.5"), 1500);
  EXPECT_EQ(parse_us_as_ns("1.05"), 1050);
  EXPECT_EQ(parse_us_as_ns("-1.5"), -1500);
  EXPECT_EQ(parse_us_as_ns("0.0005"), 1);
  EXPECT_EQ(parse_us_as_ns("0.00049"), 0);
  EXPECT_EQ(parse_us_as_ns("0.9999"), 1000);
  EXPECT_EQ(parse_us_as_ns("1."), 1000);
}

TEST(JsonText, MicrosecondsWithAnExponentAreRead) {
  EXPECT_EQ(parse_us_as_ns("1e3"), 1'000'000);
  EXPECT_EQ(parse_us_as_ns("1.5E+3"), 1'500'000);
  EXPECT_EQ(parse_us_as_ns("25e-1"), 2500);
  EXPECT_EQ(parse_us_as_ns("-2e0"), -2000);
}

TEST(JsonText, TimesBeyondAllTimesStayWithinBounds) {
  EXPECT_GT(*parse_us_as_ns("99999999999999999999999999"), 1'000'000'000'000'000'000);
  EXPECT_LT(*parse_us_as_ns("-1e300"), -1'000'000'000'000'000'000);
  EXPECT_EQ(parse_us_as_ns("1e999"), std::nullopt);
}

TEST(JsonText, WhatIsNoNumberIsNoTime) {
  for (const char* text :
       {"",      "\"\"", "NaN", "-NaN", "Infinity", "-Infinity", "null", "true", "abc", "1x",
        "1.5.2", "--1",  "+1",  "-",    ".5",       "\"",        "[1]",  "0x10", "1e",  "1 2"}) {
    EXPECT_EQ(parse_us_as_ns(text), std::nullopt) << text;
  }
}

TEST(JsonText, IdsAreDecimalOrHexadecimal) {
  EXPECT_EQ(parse_id("17"), 17u);
  EXPECT_EQ(parse_id("0x1F"), 31u);
  EXPECT_EQ(parse_id("0XffffFFFFffffFFFF"), UINT64_MAX);
  EXPECT_EQ(parse_id("0x"), std::nullopt);
  EXPECT_EQ(parse_id("0x1g"), std::nullopt);
  EXPECT_EQ(parse_id("99999999999999999999"), std::nullopt);
  EXPECT_EQ(parse_id(""), std::nullopt);
}

TEST(JsonText, IntegersAreWholeText) {
  EXPECT_EQ(parse_int("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_int("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_int("1.0"), std::nullopt);
  EXPECT_EQ(parse_int(""), std::nullopt);
}

TEST(JsonText, EscapesStandForTheirCharacters) {
  EXPECT_EQ(unescape(R"(a\"b\\c\/d\b\f\n\r\t)"), "a\"b\\c/d\b\f\n\r\t");
  EXPECT_EQ(unescape(R"(\u0041\u00e9\u20AC)"), "A\u00e9\u20ac");
  EXPECT_EQ(unescape(R"(\ud83d\ude00!)"), "\U0001F600!");
}

TEST(JsonText, HalfOfASurrogatePairBecomesTheReplacementCharacter) {
  EXPECT_EQ(unescape(R"(\ud83d!)"), "\uFFFD!");
  EXPECT_EQ(unescape(R"(\ude00\ud83d)"), "\uFFFD\uFFFD");
  EXPECT_EQ(unescape(R"(\ud83d\u0041)"),
            "\uFFFD"
            "A");
  EXPECT_EQ(unescape(R"(\ud83d\ud83d\ude00)"), "\uFFFD\U0001F600");
}

TEST(JsonText, BadEscapesAreKeptAsTheyAre) {
  EXPECT_EQ(unescape(R"(C:\windows\x)"), R"(C:\windows\x)");
  EXPECT_EQ(unescape(R"(\u12)"), R"(\u12)");
  EXPECT_EQ(unescape(R"(\u12G4)"), R"(\u12G4)");
  EXPECT_EQ(unescape(R"(\u-123)"), R"(\u-123)");
  EXPECT_EQ(unescape("\\"), "\\");
}

TEST(JsonText, AValueEndsWhereItsBracketsClose) {
  EXPECT_EQ(find_value_end(R"({"a":[1,{}]},x)", 0), 12u);
  EXPECT_EQ(find_value_end(R"({"a":"}]"},x)", 0), 10u);
  EXPECT_EQ(find_value_end(R"({"a":"\"}"},x)", 0), 11u);
  EXPECT_EQ(find_value_end(R"("a\\",x)", 0), 5u);
  EXPECT_EQ(find_value_end("123,x", 0), 3u);
  EXPECT_EQ(find_value_end("true}", 0), 4u);
  EXPECT_EQ(find_value_end("}", 0), 0u);
}

TEST(JsonText, AValueThatIsCutHasNoEnd) {
  EXPECT_EQ(find_value_end("", 0), npos);
  EXPECT_EQ(find_value_end("123", 0), npos);
  EXPECT_EQ(find_value_end("{\"a\":1", 0), npos);
  EXPECT_EQ(find_value_end("\"abc", 0), npos);
  EXPECT_EQ(find_value_end("\"abc\\\"", 0), npos);
}

TEST(JsonText, NestingOfAnyDepthNeedsNoStack) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(find_value_end(deep, 0), deep.size());
  EXPECT_EQ(find_value_end(deep.substr(0, deep.size() - 1), 0), npos);
}

TEST(JsonText, AnEventStartsAtABraceAfterABraceAndAComma) {
  const std::string_view text = "{\"ph\":\"X\"} ,\n {\"name\":1},{\"foo\":1},{ \"args\" :{}}";
  const size_t second = text.find("{\"name\"");
  const size_t fourth = text.find("{ \"args\"");
  EXPECT_EQ(find_event_start(text, 0), second);
  EXPECT_EQ(find_event_start(text, second + 1), fourth);
  EXPECT_EQ(find_last_event_start(text, 0), fourth);
  EXPECT_EQ(find_last_event_start(text.substr(0, fourth), 0), second);
  EXPECT_EQ(find_last_event_start(text, fourth + 1), npos);
  EXPECT_EQ(end_of_event_before(text, second), text.find('}') + 1);
}

TEST(JsonText, AKeyThatOnlyStartsLikeAnEventsIsNone) {
  EXPECT_EQ(find_event_start(R"({},{"names":1})", 0), npos);
  EXPECT_EQ(find_event_start(R"({},{"ph)", 0), npos);
  EXPECT_EQ(find_event_start(R"({},{)", 0), npos);
  EXPECT_EQ(find_event_start(R"([{"ph":1}])", 0), npos);
}

TEST(JsonText, MendingReplacesWhatAStrictParserRefuses) {
  EXPECT_EQ(mend_text("{\"a\x01\":\"b\nc\",\n\"d\":1}"), "{\"a \":\"b c\",\n\"d\":1}");
  EXPECT_EQ(mend_text("\"\xff\xc3\xa9\xc3\""), "\"?\xc3\xa9?\"");
  EXPECT_EQ(mend_text("\"\xed\xa0\x80\xf0\x80\x80\x80\""), "\"???????\"");
  EXPECT_EQ(mend_text("\"a\\\"\x02\""), "\"a\\\" \"");
  EXPECT_EQ(mend_text("\"a\\\\\"\x02"), "\"a\\\\\" ");
  EXPECT_EQ(mend_text("\"a\\\xff\""), "\"a\\?\"");
  EXPECT_EQ(mend_text("\"a\\"), "\"a\\");
}

}  // namespace
}  // namespace stepscope
