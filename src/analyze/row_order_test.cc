#include "analyze/row_order.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

Table make_unordered_table() {
  Table table("kernels");
  Column& name = table.add("name", ColumnType::kString);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& share = table.add("share", ColumnType::kDouble, Unit::kFraction);
  for (const auto& [text, count] : {std::pair{"b", 2}, {"c", 1}, {"a", 2}, {"d", -1}}) {
    name.push(text);
    count < 0 ? calls.push_null() : calls.push(int64_t{count});
    share.push(0.5);
  }
  return table;
}

// a(10) { b(7) { c(7) }, d(2) }, e(5) { f(1) }
Table make_tree() {
  Table table("tree");
  Column& name = table.add("name", ColumnType::kString);
  Column& depth = table.add("depth", ColumnType::kInt);
  Column& total = table.add("total_ns", ColumnType::kInt, Unit::kNs);
  const auto add = [&](const char* text, int64_t level, int64_t ns) {
    name.push(text);
    depth.push(level);
    total.push(ns);
  };
  add("a", 0, 10);
  add("b", 1, 7);
  add("c", 2, 7);
  add("d", 1, 2);
  add("e", 0, 5);
  add("f", 1, 1);
  return table;
}

std::string names(const Table& table) {
  std::string text;
  for (size_t row = 0; row < table.rows(); ++row) text += table.find("name")->get_string(row);
  return text;
}

TEST(SortRows, NumbersAreDescendingAndStableByDefaultAndNullsComeLast) {
  Table table = make_unordered_table();
  ASSERT_TRUE(sort_rows(table, "calls").ok());
  EXPECT_EQ(names(table), "bacd");
  ASSERT_TRUE(sort_rows(table, "+calls").ok());
  EXPECT_EQ(names(table), "cbad");
}

TEST(SortRows, StringsAreAscendingByDefault) {
  Table table = make_unordered_table();
  ASSERT_TRUE(sort_rows(table, "name").ok());
  EXPECT_EQ(names(table), "abcd");
  ASSERT_TRUE(sort_rows(table, "-name").ok());
  EXPECT_EQ(names(table), "dcba");
}

TEST(SortRows, UnknownColumnIsAnErrorThatListsTheColumns) {
  Table table = make_unordered_table();
  EXPECT_EQ(sort_rows(table, "-speed").message(),
            "--sort: the view 'kernels' has no column 'speed'; there are: name, calls, share");
}

TEST(SortRows, TreeKeepsChildrenBelowTheirParent) {
  Table table = make_tree();
  ASSERT_TRUE(sort_rows(table, "+total_ns").ok());
  EXPECT_EQ(names(table), "efadbc");
}

TEST(FilterRows, KeepsMatchesOfTheNameColumn) {
  Table table = make_unordered_table();
  ASSERT_TRUE(filter_rows(table, "^[ab]$").ok());
  EXPECT_EQ(names(table), "ba");
}

TEST(FilterRows, BadExpressionIsAnError) {
  Table table = make_unordered_table();
  EXPECT_FALSE(filter_rows(table, "a(").ok());
}

TEST(FilterRows, TreeKeepsTheWayToAMatchAndWhatIsBelowIt) {
  Table table = make_tree();
  ASSERT_TRUE(filter_rows(table, "b").ok());
  EXPECT_EQ(names(table), "abc");
}

TEST(LimitRows, KeepsTheFirstRowsAndSaysHowManyThereWere) {
  Table table = make_unordered_table();
  limit_rows(table, 2);
  EXPECT_EQ(names(table), "bc");
  EXPECT_EQ(table.rows_before_limit, 4u);
}

TEST(LimitRows, ZeroKeepsAll) {
  Table table = make_unordered_table();
  limit_rows(table, 0);
  EXPECT_EQ(table.rows(), 4u);
  EXPECT_EQ(table.rows_before_limit, 4u);
}

TEST(LimitRows, TreeKeepsItsHeaviestNodes) {
  Table table = make_tree();
  limit_rows(table, 4);
  EXPECT_EQ(names(table), "abce");
}

}  // namespace
}  // namespace stepscope
