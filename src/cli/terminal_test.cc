#include "cli/terminal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace stepscope::cli {
namespace {

TEST(Terminal, DrawsABarOfTheAskedLength) {
  EXPECT_EQ(draw_bar(0, 18), "[..........]   0 %");
  EXPECT_EQ(draw_bar(0.5, 18), "[#####.....]  50 %");
  EXPECT_EQ(draw_bar(1, 18), "[##########] 100 %");
  EXPECT_EQ(draw_bar(7, 18), "[##########] 100 %");
  EXPECT_EQ(draw_bar(std::nan(""), 18), "[..........]   0 %");
  EXPECT_EQ(draw_bar(0.5, 3), "[]  50 %");
}

TEST(Terminal, TakesItsWidthFromColumnsWhereThatIsANumber) {
  setenv("COLUMNS", "123", 1);
  EXPECT_EQ(find_output_width(), 123u);
  setenv("COLUMNS", "3", 1);
  EXPECT_EQ(find_output_width(), 20u);
  setenv("COLUMNS", "wide", 1);
  EXPECT_NE(find_output_width(), 0u);
  unsetenv("COLUMNS");
}

TEST(Terminal, HasNoColourWhereTheUserWantsNone) {
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(wants_color(1));
  unsetenv("NO_COLOR");
}

}  // namespace
}  // namespace stepscope::cli
