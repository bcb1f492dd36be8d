// The view `lines`: the lines of the program's own code that took most time, from samples, and
// whether Python, native code or waiting took it. See line_times.h.
#include "analyze/function_columns.h"
#include "analyze/line_times.h"
#include "analyze/share_interval.h"
#include "analyze/slice_filter.h"
#include "analyze/text_value.h"
#include "analyze/views.h"

#include <utility>

namespace stepscope {

Result<Table> lines(const Trace& trace, const TableOptions& options) {
  if (!options.by.empty()) return Status::error("--by " + options.by + ": lines are by line");
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  Table table("lines");
  FunctionColumns function(table, "name", "");
  Column& self = table.add("self_ns", ColumnType::kInt, Unit::kNs);
  Column& share = table.add("share", ColumnType::kDouble, Unit::kFraction);
  Column& low = table.add("share_low", ColumnType::kDouble, Unit::kFraction);
  Column& high = table.add("share_high", ColumnType::kDouble, Unit::kFraction);
  Column& python = table.add("python_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& native = table.add("native_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& waiting = table.add("waiting_fraction", ColumnType::kDouble, Unit::kFraction);
  Column& samples = table.add("samples", ColumnType::kInt, Unit::kCount);

  const LineTimes times(trace, filter->scope());
  for (const LineTime& line : times.all()) {
    const Frame& frame = trace.frames()[index(line.function)];
    const int64_t total_ns = line.total_ns();
    if (total_ns <= 0) continue;
    const auto of_line = [&](int64_t ns) {
      return static_cast<double>(ns) / static_cast<double>(total_ns);
    };
    const double of_all = static_cast<double>(total_ns) / static_cast<double>(times.total_ns());
    const ShareInterval interval = share_interval_95(of_all, static_cast<double>(times.looks()));
    function.push({trace.string(frame.name), trace.string(frame.file),
                   line.line > 0 ? line.line : frame.line});
    self.push(total_ns);
    share.push(of_all);
    low.push(interval.low);
    high.push(interval.high);
    const std::pair<Column*, int64_t> parts[] = {
        {&python, line.python_ns}, {&native, line.native_ns}, {&waiting, line.waiting_ns}};
    for (const auto& [column, ns] : parts) {
      times.knows_state() ? column->push(of_line(ns)) : column->push_null();
    }
    samples.push(static_cast<int64_t>(line.looks));
  }
  table.notes.push_back(
      times.looks() == 0
          ? "no samples: stepscope run and stepscope record take them"
          : "estimated from " + text_of_count(static_cast<int64_t>(times.looks())) +
                " looks; python: with the global lock, native: without it, waiting: not running");
  return table;
}

}  // namespace stepscope
