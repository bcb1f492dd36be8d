#include "analyze/grid_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace stepscope {
namespace {

using Lines = std::vector<std::string>;

// Expected texts are Python's and tabulate's (0.10.0) own.
TEST(GridText, FancyGridHasRowsOfSeveralLines) {
  GridText grid({"a", "long header"});
  grid.add_row({"x\nyy", "1\nunit"});
  grid.add_row({"z", ""});
  EXPECT_EQ(grid.fancy_grid(),
            "╒═════╤═══════════════╕\n"
            "│ a   │ long header   │\n"
            "╞═════╪═══════════════╡\n"
            "│ x   │ 1             │\n"
            "│ yy  │ unit          │\n"
            "├─────┼───────────────┤\n"
            "│ z   │               │\n"
            "╘═════╧═══════════════╛\n");
}

TEST(GridText, NumbersAreAlignedByTheirPoint) {
  GridText grid({"name", "value"});
  grid.add_row({"one", "0.5"});
  grid.add_row({"two", "12.125"});
  grid.add_row({"three", "7"});
  EXPECT_EQ(grid.simple(),
            "-----  ------\n"
            "one     0.5\n"
            "two    12.125\n"
            "three   7\n"
            "-----  ------\n");
  EXPECT_EQ(grid.org(),
            "| name   |   value |\n"
            "|--------|---------|\n"
            "| one    |   0.5   |\n"
            "| two    |  12.125 |\n"
            "| three  |   7     |\n");
}

TEST(GridText, FloatsAreAsPythonPrintsThem) {
  EXPECT_EQ(python_short(0.0), "0.0");
  EXPECT_EQ(python_short(0.0030301), "0.00303");
  EXPECT_EQ(python_short(6e-6), "6e-06");
  EXPECT_EQ(python_short(12.0), "12.0");
  EXPECT_EQ(python_short(123.0), "1.23e+02");
  EXPECT_EQ(python_short(100.0), "1e+02");
  EXPECT_EQ(python_short(12345.0), "1.23e+04");
  EXPECT_EQ(python_short(std::numeric_limits<double>::infinity()), "inf");
}

TEST(GridText, LinesAreCutAsTextwrapDoes) {
  EXPECT_EQ(wrap_text("", 5), Lines{});
  EXPECT_EQ(wrap_text("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrap_text("abcdefghijkl", 5), (Lines{"abcde", "fghij", "kl"}));
  EXPECT_EQ(wrap_text("ab cdefghijkl m", 5), (Lines{"ab cd", "efghi", "jkl m"}));
  EXPECT_EQ(wrap_text("well-known-thing", 8), (Lines{"well-", "known-", "thing"}));
  EXPECT_EQ(wrap_text("a-1-b", 3), (Lines{"a-", "1-b"}));
}

}  // namespace
}  // namespace stepscope
