// The tables that SQL sees of a trace: one array of columns each, in sql_tables.cc, and tables made
// of views. Internal to sql.cc.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "analyze/sql_module.h"
#include "analyze/sql_trace_data.h"
#include "analyze/table.h"

namespace stepscope {

// The table `slices`.
std::unique_ptr<SqlTable> make_slice_table(SqlTraceData& data);

// One source per table; they refer to the data.
std::vector<SqlTableSource> make_trace_tables(SqlTraceData& data);

// A table of a view's result.
std::unique_ptr<SqlTable> make_result_table(Table table);

}  // namespace stepscope
