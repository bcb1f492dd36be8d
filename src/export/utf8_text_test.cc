#include "export/utf8_text.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Utf8Text, BadBytesAreReplaced) {
  std::string text;
  append_utf8(text, "a\xC3\xA4\xFF\xC0\x80\xED\xA0\x80z");
  EXPECT_EQ(text, "a\xC3\xA4" + std::string("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") +
                      "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
}

TEST(Utf8Text, ALineHasNoEndInIt) {
  std::string text;
  append_line(text, "a\nb\tc\x7F");
  EXPECT_EQ(text, "a b c ");
}

TEST(Utf8Text, XmlHasNoControlCharacters) {
  std::string text;
  append_xml(text, std::string_view("<a b='\"&\">\n\t\0\x1B\xEF\xBF\xBF", 17));
  EXPECT_EQ(
      text,
      "&lt;a b=&#39;&quot;&amp;&quot;&gt;&#10;\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace
}  // namespace stepscope
