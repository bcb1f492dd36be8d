#include "cli/top_text.h"

#include <gtest/gtest.h>

#include "analyze/utf8.h"

namespace stepscope::cli {
namespace {

TEST(TopText, FitsIntoExactlyItsColumns) {
  EXPECT_EQ(fit_left("work", 6), "work  ");
  EXPECT_EQ(fit_right("work", 6), "  work");
  EXPECT_EQ(fit_left("work", 0), "");
  for (size_t width = 0; width < 30; ++width) {
    EXPECT_EQ(display_width(fit_left("データ読み込み_load_データ", width)), width);
    EXPECT_EQ(display_width(fit_right("Model.<locals>.forward_with_a_long_name", width)), width);
  }
}

TEST(TopText, ControlCharactersDoNotComeThrough) {
  EXPECT_EQ(fit_left("a\x1b[31mb\n\x07", 12).find('\x1b'), std::string::npos);
  EXPECT_EQ(fit_place("/a\x1b[2J/b\r.py", 3, 40).find_first_of("\x1b\r"), std::string::npos);
  EXPECT_EQ(fit_pieces({"a\tb"}, 10), "a␉b");
}

TEST(TopText, APlaceLosesItsFoldersFromTheLeft) {
  const std::string_view file = "/home/me/src/data/loader.py";
  EXPECT_EQ(fit_place(file, 31, 40), "/home/me/src/data/loader.py:31");
  EXPECT_EQ(fit_place(file, 0, 40), "/home/me/src/data/loader.py");
  EXPECT_EQ(fit_place(file, 31, 24), "…/src/data/loader.py:31");
  EXPECT_EQ(fit_place(file, 31, 22), "…/data/loader.py:31");
  EXPECT_EQ(fit_place(file, 31, 13), "loader.py:31");
  EXPECT_EQ(display_width(fit_place(file, 31, 8)), 8u);
  EXPECT_EQ(fit_place("", 31, 8), "");
}

TEST(TopText, PiecesThatDoNotFitAreLeftOut) {
  EXPECT_EQ(fit_pieces({"one", "two", "three"}, 80), "one   two   three");
  EXPECT_EQ(fit_pieces({"one", "a much longer one", "two"}, 12), "one   two");
  EXPECT_EQ(fit_pieces({"abcdef"}, 4).size(), std::string("ab…f").size());
}

TEST(TopText, TheRightEndGivesWayBeforeTheLeftOne) {
  EXPECT_EQ(fit_ends("left", "right", 40), "left" + std::string(31, ' ') + "right");
  EXPECT_EQ(fit_ends("left", "right", 20), "left");
  EXPECT_EQ(fit_ends("top 4711 python train.py --epochs 3", "3.11", 34),
            "top 4711 python train.py -…   3.11");
}

TEST(TopText, AsciiIsAsWideAsWhatItStandsFor) {
  EXPECT_EQ(to_ascii("a…b"), "a~b");
  EXPECT_EQ(to_ascii("データ.py"), "??????.py");
  EXPECT_EQ(to_ascii("\xff"), "?");
}

TEST(TopText, SpansAreReadable) {
  EXPECT_EQ(span_text(0), "0.0 s");
  EXPECT_EQ(span_text(2'040'000'000), "2.0 s");
  EXPECT_EQ(span_text(34'900'000'000), "34 s");
  EXPECT_EQ(span_text(725'000'000'000), "12 min 05 s");
  EXPECT_EQ(span_text(11'220'000'000'000), "3 h 07 min");
}

}  // namespace
}  // namespace stepscope::cli
