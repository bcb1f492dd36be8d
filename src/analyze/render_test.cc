#include "analyze/render.h"

#include "analyze/fault_summary.h"
#include "analyze/render_json.h"
#include "analyze/utf8.h"

#include <gtest/gtest.h>

#include <sstream>

namespace stepscope {
namespace {

Table make_table() {
  Table table("kernels");
  Column& name = table.add("name", ColumnType::kString);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& total = table.add("total_ns", ColumnType::kInt, Unit::kNs);
  Column& share = table.add("fraction", ColumnType::kDouble, Unit::kFraction);
  Column& tensor_cores = table.add("tensor_cores", ColumnType::kBool);
  name.push("volta_sgemm<float, 4>");
  calls.push(int64_t{1234});
  total.push(int64_t{98'589'000});
  share.push(0.75);
  tensor_cores.push(int64_t{1});
  name.push("a \"b\"|c\n\x01");
  calls.push_null();
  total.push(int64_t{0});
  share.push_null();
  tensor_cores.push(int64_t{0});
  table.rows_before_limit = 7;
  return table;
}

size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(RenderJson, HasTheShapeThatScriptsRelyOn) {
  Table table = make_table();
  table.stats.add(Stat::kEventsSkipped, 2);
  table.notes.push_back("no GPU");
  EXPECT_EQ(render_table(table, TableFormat::kJson),
            R"({"view": "kernels",
 "columns": [{"name": "name", "unit": ""}, {"name": "calls", "unit": "count"}, )"
            R"({"name": "total_ns", "unit": "ns"}, {"name": "fraction", "unit": "fraction"}, )"
            R"({"name": "tensor_cores", "unit": ""}],
 "rows": [
  ["volta_sgemm<float, 4>", 1234, 98589000, 0.75, true],
  ["a \"b\"|c\n\u0001", null, 0, null, false]],
 "stats": {"rows_total": 7, "events_skipped": 2, "notes": ["no GPU"]}}
)");
}

TEST(RenderJson, IsValidUtf8AlsoWhereNamesAreNot) {
  Table table("x");
  table.add("name", ColumnType::kString).push("bad\xFF\xC3 end");
  EXPECT_TRUE(is_valid_utf8(render_table(table, TableFormat::kJson)));
}

TEST(RenderJson, TableWithoutRowsOrColumnsIsWhole) {
  EXPECT_EQ(
      render_table(Table("x"), TableFormat::kJson),
      "{\"view\": \"x\",\n \"columns\": [],\n \"rows\": [],\n \"stats\": {\"rows_total\": 0}}\n");
}

TEST(RenderCsv, QuotesWhatNeedsIt) {
  EXPECT_EQ(render_table(make_table(), TableFormat::kCsv),
            "name,calls,total_ns,fraction,tensor_cores\r\n"
            "\"volta_sgemm<float, 4>\",1234,98589000,0.75,true\r\n"
            "\"a \"\"b\"\"|c\n\x01\",,0,,false\r\n");
}

TEST(RenderMarkdown, EscapesMarkupInNames) {
  EXPECT_EQ(render_table(make_table(), TableFormat::kMarkdown),
            "| name | calls | total | share | tensor cores |\n"
            "|---|---:|---:|---:|---:|\n"
            "| volta\\_sgemm&lt;float, 4> | 1,234 | 98.59 ms | 75.0% | yes |\n"
            "| a \"b\"\\|c␊␁ |  | 0 ns |  | no |\n"
            "\nshowing 2 of 7 rows (--limit 0 for all)\n");
}

TEST(RenderText, AlignsNumbersAndSaysWhatIsLeftOut) {
  EXPECT_EQ(render_table(make_table(), TableFormat::kText, {.width = 60, .color = false}),
            "                                               tensor\n"
            "name                   calls     total  share   cores\n"
            "─────────────────────────────────────────────────────\n"
            "volta_sgemm<float, 4>  1,234  98.59 ms  75.0%     yes\n"
            "a \"b\"|c␊␁                  –      0 ns      –      no\n"
            "\n"
            "showing 2 of 7 rows (--limit 0 for all)\n");
}

TEST(RenderText, FitsEveryWidth) {
  Table table = make_table();
  table.notes.push_back("a note that is longer than a narrow terminal is wide, by some words");
  for (size_t width = 16; width < 120; ++width) {
    const std::string text =
        render_table(table, TableFormat::kText, {.width = width, .color = false});
    EXPECT_LE(widest_line(text), width) << text;
  }
}

TEST(RenderText, NamesTheColumnsThatHadNoRoom) {
  const std::string text =
      render_table(make_table(), TableFormat::kText, {.width = 40, .color = false});
  EXPECT_NE(text.find("more column"), std::string::npos) << text;
  EXPECT_NE(text.find("tensor_cores"), std::string::npos) << text;
}

TEST(RenderText, HasEscapesOnlyWhenColorsAreAskedFor) {
  EXPECT_EQ(
      render_table(make_table(), TableFormat::kText, {.width = 80, .color = false}).find('\x1b'),
      std::string::npos);
  EXPECT_NE(
      render_table(make_table(), TableFormat::kText, {.width = 80, .color = true}).find('\x1b'),
      std::string::npos);
}

TEST(RenderText, IndentsATreeByDepth) {
  Table table("tree");
  Column& name = table.add("name", ColumnType::kString);
  Column& depth = table.add("depth", ColumnType::kInt);
  name.push("forward");
  depth.push(int64_t{0});
  name.push("conv");
  depth.push(int64_t{1});
  EXPECT_EQ(render_table(table, TableFormat::kText), "name\n───────\nforward\n  conv\n");
}

TEST(RenderText, ShowsCallsAndLocationAsProfilersDo) {
  Table table("functions");
  table.add("name", ColumnType::kString).push("fib");
  table.add("file", ColumnType::kString).push("fib.py");
  table.add("line", ColumnType::kInt).push(int64_t{3});
  table.add("calls", ColumnType::kInt, Unit::kCount).push(int64_t{21});
  table.add("primitive_calls", ColumnType::kInt, Unit::kCount).push(int64_t{1});
  EXPECT_EQ(render_table(table, TableFormat::kText),
            "name  calls  location\n─────────────────────\nfib    21/1  fib.py:3\n");
}

TEST(RenderText, ShowsTheResultOfAQueryAsItIs) {
  Table table{std::string(kQueryView)};
  table.add("depth", ColumnType::kInt).push(int64_t{2});
  table.add("sum(dur_ns)", ColumnType::kInt).push(int64_t{12345});
  table.add("nothing", ColumnType::kString).push_null();
  EXPECT_EQ(render_table(table, TableFormat::kText),
            "depth  sum(dur_ns)  nothing\n───────────────────────────\n    2        12345\n");
}

TEST(RenderText, TableWithoutRowsSaysSo) {
  Table table("x");
  table.add("name", ColumnType::kString);
  table.notes.push_back("no GPU in this trace");
  EXPECT_EQ(render_table(table, TableFormat::kText), "no rows\nno GPU in this trace\n");
}

TEST(RenderTable, LargeTablesComeInChunks) {
  Table table("x");
  Column& name = table.add("name", ColumnType::kString);
  for (int i = 0; i < 10'000; ++i) name.push("a name of some length");
  size_t chunks = 0, largest = 0;
  render_table(table, TableFormat::kJson, {}, [&](std::string_view chunk) {
    ++chunks;
    largest = std::max(largest, chunk.size());
  });
  EXPECT_GT(chunks, 3u);
  EXPECT_LT(largest, size_t{80} << 10);
}

TEST(FaultSummary, SaysWhatWasWrongMostImportantFirst) {
  Stats stats;
  EXPECT_EQ(fault_summary(stats), "");
  stats.add(Stat::kEventsRead, 100);
  EXPECT_EQ(fault_summary(stats), "");
  stats.add(Stat::kEventsSkipped, 3);
  stats.add(Stat::kBytesTruncated, 1024);
  EXPECT_EQ(fault_summary(stats), "1,024 bytes lost where the file is cut short, 3 events skipped");
}

TEST(FindTableFormat, KnowsItsNames) {
  EXPECT_EQ(find_table_format("md"), TableFormat::kMarkdown);
  EXPECT_EQ(find_table_format("xml"), std::nullopt);
}

}  // namespace
}  // namespace stepscope
