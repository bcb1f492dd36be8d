#include "analyze/hand_made_trace.h"
#include "analyze/views.h"
#include "trace/trace_builder.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

std::string text(const Table& table, const char* other) {
  std::string lines;
  for (size_t row = 0; row < table.rows(); ++row) {
    lines += table.find("name")->get_string(row) + " " + table.find(other)->get_string(row) + " " +
             std::to_string(int_at(table, "calls", row)) + "/" +
             std::to_string(int_at(table, "primitive_calls", row)) + " self " +
             std::to_string(int_at(table, "self_ns", row)) + " total " +
             std::to_string(int_at(table, "total_ns", row)) + "\n";
  }
  return lines;
}

Trace make_trace() {
  HandMadeTrace made;
  made.python("a.py(1): main", 0, 1000);
  made.python("a.py(5): load", 100, 200);
  made.python("a.py(9): work", 400, 500);
  made.python("a.py(5): load", 500, 50);
  made.python("a.py(5): load", 600, 100);
  return made.build();
}

TEST(Callers, NameWhoCalledAFunctionAndWhatItCost) {
  const auto table = make_view(make_trace(), "callers", {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(text(*table, "caller"),
            "work main 1/1 self 350 total 500\n"
            "load main 1/1 self 200 total 200\n"
            "load work 2/2 self 150 total 150\n");
  EXPECT_EQ(table->find("file")->get_string(2), "a.py");
  EXPECT_EQ(table->find("line")->get_int(2), 5);
  EXPECT_EQ(table->find("caller_file")->get_string(2), "a.py");
  EXPECT_EQ(table->find("caller_line")->get_int(2), 9);
}

TEST(Callees, NameWhomAFunctionCalled) {
  const auto table = make_view(make_trace(), "callees", {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(text(*table, "callee"),
            "main work 1/1 self 350 total 500\n"
            "main load 1/1 self 200 total 200\n"
            "work load 2/2 self 150 total 150\n");
  EXPECT_EQ(table->find("callee_line")->get_int(0), 9);
}

TEST(Callers, FilterPicksTheFunctionThatIsCalled) {
  TableOptions options;
  options.filter = "^load$";
  EXPECT_EQ(make_view(make_trace(), "callers", options)->rows(), 2u);
  options.filter = "main";
  EXPECT_EQ(make_view(make_trace(), "callers", options)->rows(), 0u);
}

TEST(Callers, RangeCountsTheCallsThatStartInIt) {
  TableOptions options;
  options.range = {450, 2000};
  EXPECT_EQ(text(*make_view(make_trace(), "callers", options), "caller"),
            "load work 2/2 self 150 total 150\n");
}

TEST(Callers, TimesAreMissingWhereTheFileHasNone) {
  TraceBuilder builder;
  const FrameId main = builder.add_frame({builder.string("main"), builder.string("a.py"), 1});
  const FrameId len = builder.add_frame({builder.string("len"), builder.string("~"), 0});
  builder.add_call_edge(kNoFrame, len, 5, 5, 90, 90);
  builder.add_call_edge(main, len, 5, 5, kNoCallTimeNs, kNoCallTimeNs);
  const auto table = make_view(std::move(builder).finish(), "callers", {});
  EXPECT_EQ(text(*table, "caller"), "len main 5/5 self -1 total -1\n");
  EXPECT_TRUE(table->find("total_ns")->is_null(0));
  EXPECT_TRUE(table->find("file")->is_null(0));
}

TEST(Callers, TraceWithoutFunctionsSaysHowToGetThem) {
  HandMadeTrace made;
  made.op("aten::add", 0, 100);
  const auto table = make_view(made.build(), "callers", {});
  EXPECT_EQ(table->rows(), 0u);
  EXPECT_EQ(table->notes.size(), 1u);
}

}  // namespace
}  // namespace stepscope
