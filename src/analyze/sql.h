// SQL over a trace: SQLite's language, read-only, on virtual tables that read the trace in place.
// The same for `stepscope query`, Python and the viewer.
//
//   Result<Table> table = run_sql(trace, "SELECT name, sum(dur_ns) FROM slices GROUP BY name");
//
// Tables, with their columns in `SELECT name, sql FROM sqlite_schema`: slices, tracks, counters,
// flows, args, strings, allocations, samples, stacks, frames, call_edges, metadata, stats. Every
// view but tracks is a table too (operators, kernels, steps, …), made when it is first named. Times
// are in ns from the trace's begin; begin_ns in metadata leads back to the file's own clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "analyze/table.h"
#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

struct SqlOptions {
  // Asked every few milliseconds; the statement stops with an error when it says true.
  std::function<bool()> should_stop;
  uint64_t max_rows = 0;  // rows kept, with a note where there were more; 0: all
};

// Keeps what statements have in common (indexes and views that were made). Refers to the trace,
// which must outlive it. One thread at a time.
class SqlSession {
 public:
  static Result<SqlSession> open(const Trace& trace);

  SqlSession(SqlSession&&) noexcept;
  SqlSession& operator=(SqlSession&&) noexcept;
  ~SqlSession();

  // One SELECT. Columns have the types of their values, no units. Fails with SQLite's message.
  Result<Table> run(std::string_view sql, const SqlOptions& options = {});

 private:
  class Impl;
  explicit SqlSession(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

Result<Table> run_sql(const Trace& trace, std::string_view sql, const SqlOptions& options = {});

}  // namespace stepscope
