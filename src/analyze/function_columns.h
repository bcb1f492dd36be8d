// The columns that views of functions have in common: what a function is, and what its calls cost.
#pragma once

#include <string>

#include "analyze/table.h"
#include "trace/call_graph.h"
#include "trace/function_name.h"

namespace stepscope {

// name, file, line; or, for the other end of an edge, caller, caller_file, caller_line.
class FunctionColumns {
 public:
  FunctionColumns(Table& table, const std::string& name, const std::string& prefix)
      : name_(table.add(name, ColumnType::kString)),
        file_(table.add(prefix + "file", ColumnType::kString)),
        line_(table.add(prefix + "line", ColumnType::kInt)) {}

  void push(const FunctionName& function) {
    const bool is_built_in = function.file == kBuiltInFile && function.line == 0;
    name_.push(function.name);
    function.file.empty() || is_built_in ? file_.push_null() : file_.push(function.file);
    function.line > 0 ? line_.push(function.line) : line_.push_null();
  }

 private:
  Column &name_, &file_, &line_;
};

// calls, primitive_calls, self_ns, total_ns.
class CostColumns {
 public:
  explicit CostColumns(Table& table)
      : calls_(table.add("calls", ColumnType::kInt, Unit::kCount)),
        primitive_calls_(table.add("primitive_calls", ColumnType::kInt, Unit::kCount)),
        self_(table.add("self_ns", ColumnType::kInt, Unit::kNs)),
        total_(table.add("total_ns", ColumnType::kInt, Unit::kNs)) {}

  void push(const CallCost& cost, bool has_times = true) {
    if (cost.calls > 0) {
      calls_.push(static_cast<int64_t>(cost.calls));
      primitive_calls_.push(static_cast<int64_t>(cost.primitive_calls));
    } else {
      calls_.push_null();  // samples do not count calls
      primitive_calls_.push_null();
    }
    has_times ? self_.push(cost.self_ns) : self_.push_null();
    has_times ? total_.push(cost.total_ns) : total_.push_null();
  }

 private:
  Column &calls_, &primitive_calls_, &self_, &total_;
};

// What a table without rows says where the trace has no functions.
std::string no_functions_note();

}  // namespace stepscope
