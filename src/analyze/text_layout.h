// The columns of a table as eyes want them, before they are fitted into a terminal or put into
// Markdown. Scripts have each value in a column of its own; here
//   - name is indented by depth, and depth left out;
//   - file and line (also of a caller or callee) are one column, location; calls and
//   primitive_calls one, "3/1", as in cProfile;
//   - columns value_ns, value_bytes, value_count, value_text, of which each row has one, are one:
//   value;
//   - section is named where it changes only;
//   - columns without any value are left out.
// The result of a query is shown as it is.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "analyze/table.h"

namespace stepscope {

struct TextColumn {
  std::string name;                         // of the table's column
  std::string title;                        // in words
  bool is_number = false;                   // to the right, and never shortened
  std::function<std::string(size_t)> cell;  // by row: printable text; "" where there is no value
};

// Refers to the table, which must outlive it.
std::vector<TextColumn> build_text_columns(const Table& table);

// The sentences under a table: rows left out, notes, faults of the trace.
std::vector<std::string> build_footer(const Table& table);

}  // namespace stepscope
