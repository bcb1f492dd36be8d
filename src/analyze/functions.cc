// The view `functions`: calls, own and total time of each function, as pstats has them. A
// function's own time is its duration less that of all slices directly in it, operators too; total
// time counts a recursive function once. Comes from slices that are function calls, else from call
// edges (.prof), else from samples (sampled_functions.h); in a trace that knows no kinds every name
// is a function.
#include "analyze/function_columns.h"
#include "analyze/sampled_functions.h"
#include "analyze/slice_filter.h"
#include "analyze/views.h"
#include "trace/call_counter.h"
#include "trace/sample_weights.h"

#include <optional>
#include <string>
#include <utility>

namespace stepscope {
namespace {

class FunctionTable {
 public:
  explicit FunctionTable(bool by_thread)
      : table("functions"),
        function_(table, "name", ""),
        cost_(table),
        thread_(by_thread ? &table.add("thread", ColumnType::kString) : nullptr) {}

  void add(const FunctionName& name, const CallCost& cost, std::string_view thread) {
    function_.push(name);
    cost_.push(cost);
    if (thread_ != nullptr) thread_->push(thread);
  }

  // The functions that are known as such, or the others.
  void add(const CallCounter& counter, bool is_known, const SliceStream& stream,
           std::string_view thread) {
    for (const CallCounter::Function& function : counter.functions()) {
      if (function.is_known != is_known || function.cost.calls == 0) continue;
      add(parse_function_name(stream.strings().view(function.name)), function.cost, thread);
    }
  }

  Table table;

 private:
  FunctionColumns function_;
  CostColumns cost_;
  Column* thread_;
};

std::string thread_title(const SliceStream& stream, TrackId id) {
  const Track& track = stream.tracks()[index(id)];
  std::string title = track.tid.text != kEmptyString
                          ? std::string(stream.strings().view(track.tid.text))
                          : std::to_string(track.tid.number);
  const std::string_view name = stream.strings().view(track.name);
  if (!name.empty()) title += " (" + std::string(name) + ")";
  return title;
}

struct Functions {
  Table table;
  bool has_known;
  bool knows_no_kinds;
};

Result<Functions> count_functions(SliceStream& stream, const SliceFilter& filter, bool by_thread) {
  FunctionTable known(by_thread), unknown(by_thread);
  CallCounter counter(stream, filter.scope(), CallCounter::Edges::kNone);
  const auto add_rows = [&](std::string_view thread) {
    known.add(counter, true, stream, thread);
    unknown.add(counter, false, stream, thread);
  };
  SliceBlock block;
  std::optional<TrackId> track;
  const auto end_track = [&] {
    counter.close_track();
    if (!by_thread || !track) return;
    add_rows(thread_title(stream, *track));
    counter.reset_costs();
  };
  while (true) {
    Result<bool> more = stream.next(block);
    if (!more) return more.status();
    if (!*more) break;
    if (block.starts_track) end_track();
    track = block.track;
    if (filter.takes_track(block.track)) counter.add(block);
  }
  end_track();
  if (!by_thread) add_rows("");
  const bool use_unknown = !counter.has_known() && counter.knows_no_kinds();
  return Functions{use_unknown ? std::move(unknown.table) : std::move(known.table),
                   counter.has_known(), counter.knows_no_kinds()};
}

// Of call edges, which know no threads.
Table functions_of_graph(const CallGraph& graph) {
  FunctionTable out(false);
  for (const CallGraph::Function& function : graph.functions) {
    if (!function.is_only_caller) out.add(function.name, function.cost, "");
  }
  return std::move(out.table);
}

Result<bool> parse_by_thread(const TableOptions& options) {
  if (options.by.empty()) return false;
  if (options.by == "thread") return true;
  if (options.by == "line") {
    return Status::error("--by line: only of a sampled trace; --view lines has those of a run");
  }
  return Status::error("--by " + options.by +
                       ": functions are by function, by thread, or of samples by line");
}

void note_what_is_missing(const Functions& functions, Table& table) {
  if (table.rows() > 0 || functions.has_known || functions.knows_no_kinds) return;
  table.notes.push_back(no_functions_note());
}

}  // namespace

Result<Table> functions(const Trace& trace, const TableOptions& options) {
  if (functions_are_sampled(trace) && trace.call_edges().callee.empty()) {
    if (options.by != "line") {
      if (const auto by_thread = parse_by_thread(options); !by_thread) return by_thread.status();
    }
    return sampled_functions_table(trace, options);
  }
  const Result<bool> by_thread = parse_by_thread(options);
  if (!by_thread) return by_thread.status();
  Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  TraceSliceStream stream(trace);
  Result<Functions> functions = count_functions(stream, *filter, *by_thread);
  if (!functions) return functions.status();
  if (!functions->has_known && !trace.call_edges().callee.empty()) {
    return functions_of_graph(build_call_graph(trace, filter->scope()));
  }
  note_what_is_missing(*functions, functions->table);
  return std::move(functions->table);
}

Result<Table> stream_functions(SliceStream& stream, const TableOptions& options) {
  const Result<bool> by_thread = parse_by_thread(options);
  if (!by_thread) return by_thread.status();
  if (!options.track.empty() || options.range.begin_ns != 0 || options.range.end_ns != INT64_MAX) {
    return Status::error("--range and --track need the whole trace in memory");
  }
  const SliceFilter all;
  Result<Functions> functions = count_functions(stream, all, *by_thread);
  if (!functions) return functions.status();
  note_what_is_missing(*functions, functions->table);
  return std::move(functions->table);
}

}  // namespace stepscope
