#include "analyze/sql.h"

#include "analyze/render.h"
#include "trace/trace_builder.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

Trace make_queried_trace() {
  TraceBuilder builder;
  const TrackId main = builder.add_thread(ForeignId{1}, ForeignId{7});
  builder.track(main).name = builder.string("main");
  const TrackId other = builder.add_thread(ForeignId{1}, ForeignId{8});
  const LabelId conv = builder.label("conv", "cpu_op", SliceKind::kOperator);
  const LabelId add = builder.label("add", "cpu_op", SliceKind::kOperator);
  const LabelId step = builder.label("step", "user", SliceKind::kStep);
  builder.add_slice(main, 1000, 500, step);                          // 0
  const SliceRef first = builder.add_slice(main, 1010, 100, conv);   // 1
  builder.add_slice(main, 1020, 30, add);                            // 2
  const SliceRef second = builder.add_slice(main, 1200, 100, conv);  // 3
  builder.add_slice(other, 1100, 50, add);                           // 4
  builder.add_int(builder.arg_column("External id", ArgType::kInt), first, 17);
  builder.add_int(builder.arg_column("External id", ArgType::kInt), second, 18);
  builder.add_string(builder.arg_column("Input Dims", ArgType::kJson), first,
                     builder.string("[[1,2]]"));
  builder.add_double(builder.arg_column("occupancy", ArgType::kDouble), second, 0.5);
  builder.add_flow(first, second, 1050, 1200, 99, builder.label("ac2g", "ac2g", SliceKind::kOther));
  const TrackId counter = builder.add_counter(ForeignId{1}, builder.string("memory"), kEmptyString);
  builder.add_counter_value(counter, 1000, 1.5);
  builder.add_counter_value(counter, 1100, 2.5);
  builder.add_metadata("schemaVersion", "1", true);
  builder.stats().add(Stat::kEventsSkipped, 3);
  return std::move(builder).finish();
}

// Rows as CSV without the header line.
std::string rows(const Result<Table>& table) {
  if (!table) return "error: " + table.status().message();
  const std::string csv = render_table(*table, TableFormat::kCsv);
  std::string text;
  for (const char c : csv.substr(csv.find('\n') + 1)) {
    if (c != '\r') text += c;
  }
  return text;
}

std::string query(std::string_view sql) { return rows(run_sql(make_queried_trace(), sql)); }

TEST(Sql, SlicesHaveAllTheirColumns) {
  EXPECT_EQ(query("SELECT * FROM slices"),
            "0,0,step,user,step,0,500,300,,0\n"
            "1,0,conv,cpu_op,operator,10,100,70,0,1\n"
            "2,0,add,cpu_op,operator,20,30,30,1,2\n"
            "3,0,conv,cpu_op,operator,200,100,100,0,1\n"
            "4,1,add,cpu_op,operator,100,50,50,,0\n");
}

TEST(Sql, OtherTablesAreThere) {
  EXPECT_EQ(query("SELECT id, kind, pid, tid, name, slice_count FROM tracks"),
            "0,thread,1,7,main,4\n1,thread,1,8,,1\n2,counter,1,0,memory,0\n");
  EXPECT_EQ(query("SELECT * FROM counters"), "2,memory,,0,1.5\n2,memory,,100,2.5\n");
  EXPECT_EQ(query("SELECT * FROM flows"), "99,ac2g,ac2g,1,3,50,200\n");
  EXPECT_EQ(query("SELECT * FROM args ORDER BY slice_id, key"),
            "1,External id,int,17\n1,Input Dims,json,\"[[1,2]]\"\n3,External "
            "id,int,18\n3,occupancy,double,0.5\n");
  EXPECT_EQ(query("SELECT text FROM strings WHERE id = 0"), "\n");
  EXPECT_EQ(query("SELECT value FROM metadata WHERE key IN ('begin_ns', 'schemaVersion')"),
            "1000\n1\n");
  EXPECT_EQ(query("SELECT value FROM stats WHERE name = 'events_skipped'"), "3\n");
  EXPECT_EQ(query("SELECT count(*) FROM allocations, samples, stacks, frames, call_edges"), "0\n");
}

TEST(Sql, ViewsAreTables) {
  EXPECT_EQ(query("SELECT name, slices FROM tree JOIN (SELECT count(*) AS slices FROM slices) "
                  "WHERE depth = 0"),
            "step,5\nadd,5\n");
  EXPECT_EQ(query("SELECT count(*) FROM overview, functions"), "0\n");
}

TEST(Sql, SearchesGiveWhatAFullScanGives) {
  const Trace trace = make_queried_trace();
  auto session = SqlSession::open(trace);
  ASSERT_TRUE(session.ok());
  for (const char* column : {"id", "track_id", "start_ns", "parent_id", "depth"}) {
    for (const char* op : {"=", "<", "<=", ">", ">=", "IS"}) {
      for (const char* value :
           {"-1", "0", "1", "2", "3", "4", "5", "10", "20", "100", "200", "1.0", "1.5", "NULL",
            "9223372036854775807", "-9223372036854775808", "1e30"}) {
        const std::string condition = std::string(column) + " " + op + " " + value;
        // The unary plus hides a column from the search.
        EXPECT_EQ(rows(session->run("SELECT id FROM slices WHERE " + condition)),
                  rows(session->run("SELECT id FROM slices WHERE +" + condition)))
            << condition;
      }
    }
  }
  for (const char* condition :
       {"name = 'conv'", "name = 'none'", "name = 'CONV' COLLATE NOCASE", "category = 'user'",
        "kind = 'step'", "name = 5", "name = 'add' AND track_id = 1",
        "name = 'add' AND kind = 'step'", "track_id = 0 AND start_ns BETWEEN 10 AND 20",
        "id > 1 AND id <= 3 AND name = 'conv'"}) {
    std::string plain = condition;
    for (size_t at = 0; (at = plain.find(" AND ", at)) != std::string::npos; at += 6) {
      if (plain.find("BETWEEN") > at) plain.insert(at + 5, "+");
    }
    EXPECT_EQ(rows(session->run("SELECT id FROM slices WHERE " + std::string(condition))),
              rows(session->run("SELECT id FROM slices WHERE +" + plain)))
        << condition;
  }
}

TEST(Sql, JoinsFollowIds) {
  EXPECT_EQ(query("SELECT s.id, a.value FROM slices s JOIN args a ON a.slice_id = s.id "
                  "WHERE a.key = 'External id' ORDER BY s.id"),
            "1,17\n3,18\n");
  EXPECT_EQ(query("SELECT f.id, k.id FROM slices s JOIN flows f ON f.from_slice = s.id "
                  "JOIN slices k ON k.id = f.to_slice WHERE s.name = 'conv'"),
            "99,3\n");
  EXPECT_EQ(
      query("SELECT p.name, c.id FROM slices p JOIN slices c ON c.parent_id = p.id ORDER BY c.id"),
      "step,1\nconv,2\nstep,3\n");
  EXPECT_EQ(query("SELECT c.value FROM tracks t JOIN counters c ON c.track_id = t.id WHERE t.name "
                  "= 'memory'"),
            "1.5\n2.5\n");
}

TEST(Sql, JsonOfArgumentsCanBeTakenApart) {
  EXPECT_EQ(
      query(
          "SELECT j.value FROM args a, json_tree(a.value) j WHERE a.type = 'json' AND j.atom > 1"),
      "2\n");
}

TEST(Sql, GroupsAndOrdersByName) {
  EXPECT_EQ(query("SELECT name, count(*), sum(dur_ns) FROM slices GROUP BY name"),
            "add,2,80\nconv,2,200\nstep,1,500\n");
  EXPECT_EQ(query("SELECT name, category, count(*) FROM slices GROUP BY name, category"),
            "add,cpu_op,2\nconv,cpu_op,2\nstep,user,1\n");
  EXPECT_EQ(query("SELECT category, count(*) FROM slices GROUP BY category"), "cpu_op,4\nuser,1\n");
  EXPECT_EQ(query("SELECT name FROM slices ORDER BY name DESC, id DESC"),
            "step\nconv\nconv\nadd\nadd\n");
  EXPECT_EQ(query("SELECT DISTINCT name FROM slices ORDER BY name DESC"), "step\nconv\nadd\n");
  EXPECT_EQ(query("SELECT id FROM slices ORDER BY name"), "2\n4\n1\n3\n0\n");
}

TEST(Sql, ResultsHaveTheTypesOfTheirValues) {
  const auto table = run_sql(make_queried_trace(),
                             "SELECT 1 AS a, 1.5 AS b, 'x' AS c, NULL AS d UNION ALL "
                             "SELECT 2, 2, 3, NULL");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->find("a")->type(), ColumnType::kInt);
  EXPECT_EQ(table->find("b")->type(), ColumnType::kDouble);
  EXPECT_EQ(table->find("c")->type(), ColumnType::kString);
  EXPECT_EQ(table->find("c")->get_string(1), "3");
  EXPECT_TRUE(table->find("d")->is_null(0));
  EXPECT_EQ(table->stats.get(Stat::kEventsSkipped), 3u);
}

TEST(Sql, NothingCanBeWrittenOrReached) {
  for (const char* sql :
       {"CREATE TABLE x(a)", "CREATE TEMP TABLE x(a)", "INSERT INTO slices VALUES (1)",
        "DELETE FROM slices", "UPDATE slices SET name = 'x'", "DROP TABLE slices",
        "ATTACH '/tmp/x.db' AS x", "PRAGMA journal_mode = DELETE", "VACUUM INTO '/tmp/x'",
        "SELECT load_extension('x')", "BEGIN", "PRAGMA writable_schema = 1",
        "CREATE VIRTUAL TABLE t USING fts5(x)"}) {
    EXPECT_FALSE(run_sql(make_queried_trace(), sql).ok()) << sql;
  }
  EXPECT_EQ(query("CREATE TABLE x(a)"), "error: a trace is read-only: only SELECT works");
}

TEST(Sql, MistakesGiveOneClearLine) {
  EXPECT_TRUE(query("SELECT * FROM slice")
                  .starts_with("error: no such table: slice; there are: slices, tracks"));
  EXPECT_EQ(query("SELECT nam FROM slices"), "error: no such column: nam");
  EXPECT_EQ(query("SELEC 1"), "error: near \"SELEC\": syntax error");
  EXPECT_EQ(query(" -- nothing"), "error: there is no SQL in it");
  EXPECT_EQ(query("SELECT 1; SELECT 2"),
            "error: one statement at a time; there is more after the first");
  EXPECT_EQ(query("SELECT 1; -- that is all\n"), "1\n");
}

TEST(Sql, SchemaListsTheTables) {
  EXPECT_EQ(query("SELECT count(*) FROM sqlite_schema WHERE name IN ('slices', 'args') AND sql "
                  "LIKE '%slice%'"),
            "2\n");
  EXPECT_EQ(query("SELECT name FROM pragma_table_info('strings')"), "id\ntext\n");
  EXPECT_EQ(query("SELECT name FROM pragma_table_list WHERE name = 'flows'"), "flows\n");
}

TEST(Sql, StopsWhenToldTo) {
  SqlOptions options;
  int asked = 0;
  options.should_stop = [&] { return ++asked == 3; };
  const auto endless = run_sql(make_queried_trace(),
                               "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                               "SELECT count(*) FROM n",
                               options);
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.status().message(), "stopped");
}

TEST(Sql, KeepsAtMostMaxRowsAndSaysSo) {
  SqlOptions options;
  options.max_rows = 2;
  const auto table = run_sql(make_queried_trace(), "SELECT id FROM slices", options);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->rows(), 2u);
  EXPECT_EQ(table->notes.size(), 1u);
}

TEST(Sql, EmptyTraceHasEmptyTables) {
  TraceBuilder builder;
  const Trace empty = std::move(builder).finish();
  for (const char* table : {"slices", "tracks", "counters", "flows", "args", "allocations"}) {
    EXPECT_EQ(rows(run_sql(empty, std::string("SELECT count(*) FROM ") + table)), "0\n") << table;
  }
  EXPECT_EQ(rows(run_sql(empty, "SELECT name FROM slices WHERE name = 'x' GROUP BY name")), "");
  EXPECT_EQ(rows(run_sql(empty, "SELECT name FROM slices GROUP BY name")), "");
}

}  // namespace
}  // namespace stepscope
