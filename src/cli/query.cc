// stepscope query: SQL over a trace.
#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "analyze/sql.h"
#include "cli/commands.h"
#include "cli/load_trace.h"
#include "cli/table_output.h"

namespace stepscope::cli {
namespace {

constexpr const char* kQueryCommand = "query";

constexpr const char* kQueryDescription = R"(Ask a trace anything, in SQL (SQLite's, read-only).

Examples:
  stepscope query trace.json "SELECT name, count(*) AS calls, sum(dur_ns) AS total_ns
                              FROM slices GROUP BY name ORDER BY total_ns DESC LIMIT 10"
  stepscope query trace.json "SELECT * FROM tracks" --format csv > tracks.csv
  stepscope query trace.json "SELECT name, sql FROM sqlite_schema"   the tables there are)";

constexpr const char* kQueryFooter =
    R"(Tables: slices, tracks, counters, flows, args, strings, allocations, samples, stacks, frames,
call_edges, metadata, stats; and the views: operators, kernels, steps, …  Times are in ns from the
trace's begin.)";

struct QueryArguments {
  std::string path;
  std::string sql;
  TableOutputOptions output;
};

int run(const QueryArguments& options) {
  const auto path = find_trace(options.path);
  if (!path) return print_fault(path.status());
  const auto trace = load_trace(*path);
  if (!trace) return print_fault(trace.status());
  const auto table = run_sql(*trace, options.sql);
  if (!table) return print_fault(Status::error("query: " + table.status().message()));
  auto out = TableOutput::create(options.output, false, false);
  if (!out) return print_fault(out.status());
  (*out)->add(*table, *path);
  const Status status = (*out)->finish();
  return status ? kExitFine : print_fault(status);
}

}  // namespace

void add_query(CLI::App& app, Action& action) {
  const auto options = std::make_shared<QueryArguments>();
  CLI::App* command = app.add_subcommand(kQueryCommand, "Ask a trace anything, in SQL");
  command->description(kQueryDescription);
  command
      ->add_option("PATH", options->path,
                   "A trace file or the folder of a run; \"-\" is standard input")
      ->required()
      ->type_name("");
  command->add_option("SQL", options->sql, "One SELECT statement")->required()->type_name("");
  add_table_output_options(*command, options->output);
  command->footer(kQueryFooter);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace stepscope::cli
