#include "analyze/utf8.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

std::string mended(std::string_view text) {
  std::string out;
  append_valid_utf8(out, text);
  return out;
}

TEST(Utf8, GoodTextIsUnchanged) {
  for (const char* text : {"", "aten::conv2d", "µs ≥ 漢字 🚀", "\xEF\xBF\xBD"}) {
    EXPECT_TRUE(is_valid_utf8(text)) << text;
    EXPECT_EQ(mended(text), text);
  }
}

TEST(Utf8, BadBytesAreReplacedOneByOne) {
  EXPECT_EQ(mended("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(mended("\xC3"), "\xEF\xBF\xBD");                                  // cut short
  EXPECT_EQ(mended("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // overlong
  EXPECT_EQ(mended("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  EXPECT_FALSE(is_valid_utf8("\xF4\x90\x80\x80"));                            // beyond U+10FFFF
}

TEST(Printable, ControlCharactersCanNotSteerATerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\n\x7f"), "a␛[31mb␊␡");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\xEF\xBF\xBD"
            "31m");
  EXPECT_EQ(printable("\xE2\x80\xAE"
                      "abc"),
            "\xEF\xBF\xBD"
            "abc");
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("µs"), 2u);
  EXPECT_EQ(display_width("漢字"), 4u);
  EXPECT_EQ(display_width("e\xCC\x81"), 1u);
}

TEST(ElideMiddle, FitsTheWidthAndKeepsBothEnds) {
  EXPECT_EQ(elide_middle("short", 10), "short");
  EXPECT_EQ(elide_middle("abcdefghijklmnop", 7), "abc…nop");
  for (size_t width = 1; width < 12; ++width) {
    EXPECT_LE(display_width(elide_middle("漢字漢字漢字漢字", width)), width);
    EXPECT_TRUE(is_valid_utf8(elide_middle("漢字漢字漢字漢字", width)));
  }
}

}  // namespace
}  // namespace stepscope
