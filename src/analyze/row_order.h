// Which rows of a table are shown, and in what order: --filter, --sort, --limit. Written once for
// all views. A table with a column `depth` is a tree in pre-order and stays one: sorting orders
// siblings, a filter keeps the way to each match and what is below it, a limit keeps the heaviest
// nodes.
//
//   Status status = filter_rows(table, "conv");
//   if (status) status = sort_rows(table, "-total_ns");
//   limit_rows(table, 20);
#pragma once

#include <cstdint>
#include <string_view>

#include "analyze/table.h"
#include "base/status.h"

namespace stepscope {

// Keeps the rows whose name matches: the column `name`, or the first column of strings.
Status filter_rows(Table& table, std::string_view expression);

// `key` is a column's name, after "-" descending, after "+" ascending, else numbers descending and
// strings ascending. Nulls come last; rows that are equal keep their order.
Status sort_rows(Table& table, std::string_view key);

// Keeps the first `limit` rows (0: all) and notes in the table how many there were.
void limit_rows(Table& table, int64_t limit);

// All three, as the user asked or as the table has it by default (Table::default_sort).
Status order_rows(Table& table, const TableOptions& options, int64_t default_limit);

}  // namespace stepscope
