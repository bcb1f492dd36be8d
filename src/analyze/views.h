// The views: each a function from a trace to a table, one per file, listed in registry.cc. Columns
// that scripts may rely on are fixed by docs/views.md.
#pragma once

#include <span>
#include <string_view>

#include "analyze/table.h"
#include "base/status.h"
#include "trace/slice_stream.h"
#include "trace/trace.h"

namespace stepscope {

// Made from the whole trace.
Result<Table> overview(const Trace& trace, const TableOptions& options);
Result<Table> tracks(const Trace& trace, const TableOptions& options);
Result<Table> operators(const Trace& trace, const TableOptions& options);
Result<Table> kernels(const Trace& trace, const TableOptions& options);
Result<Table> steps(const Trace& trace, const TableOptions& options);
Result<Table> phases(const Trace& trace, const TableOptions& options);
Result<Table> input(const Trace& trace, const TableOptions& options);
Result<Table> modules(const Trace& trace, const TableOptions& options);
Result<Table> devices(const Trace& trace, const TableOptions& options);
Result<Table> ranks(const Trace& trace, const TableOptions& options);
Result<Table> collectives(const Trace& trace, const TableOptions& options);
Result<Table> gpu(const Trace& trace, const TableOptions& options);
Result<Table> launch_stats(const Trace& trace, const TableOptions& options);
Result<Table> copies(const Trace& trace, const TableOptions& options);
Result<Table> syncs(const Trace& trace, const TableOptions& options);
Result<Table> critical_path(const Trace& trace, const TableOptions& options);
Result<Table> sequences(const Trace& trace, const TableOptions& options);
Result<Table> roofline(const Trace& trace, const TableOptions& options);
Result<Table> cupti(const Trace& trace, const TableOptions& options);
Result<Table> memory(const Trace& trace, const TableOptions& options);
Result<Table> tree(const Trace& trace, const TableOptions& options);
Result<Table> functions(const Trace& trace, const TableOptions& options);
Result<Table> lines(const Trace& trace, const TableOptions& options);
Result<Table> callers(const Trace& trace, const TableOptions& options);
Result<Table> callees(const Trace& trace, const TableOptions& options);

// The same from a stream of blocks, for files larger than memory. Columns that need the whole trace
// (memory of operators) are null there.
Result<Table> stream_operators(SliceStream& stream, const TableOptions& options);
Result<Table> stream_kernels(SliceStream& stream, const TableOptions& options);
Result<Table> stream_functions(SliceStream& stream, const TableOptions& options);

struct View {
  std::string_view name;
  std::string_view summary;       // one line for --help
  std::string_view default_sort;  // as TableOptions::sort; "" keeps the order of the analysis
  int64_t default_limit;          // 0: all rows
  Result<Table> (*make)(const Trace&, const TableOptions&);
  Result<Table> (*make_from_stream)(SliceStream&, const TableOptions&);  // null: can not stream
  bool is_kept = false;  // with the trace, once made: the overview shows it too
};

std::span<const View> views();
Status unknown_view(std::string_view name, std::span<const View> known);
const View* find_view(std::string_view name);

// A view with all its rows, as the analysis gives it. Those that the overview shows too are made
// once.
Result<Table> make_whole_view(const Trace& trace, std::string_view name,
                              const TableOptions& options);

// Makes a view, then filters, sorts and limits it; adds the trace's stats. Front ends call
// make_any_view() (advise/all_views.h), which knows the findings too.
Result<Table> make_view(const Trace& trace, std::string_view name, const TableOptions& options);
// The same of a view that may be in no list of this layer.
Result<Table> make_view(const Trace& trace, const View& view, const TableOptions& options);
// The same without the whole trace in memory; `stats` are the stream's. Fails for views that can
// not stream.
Result<Table> make_view(SliceStream& stream, const Stats& stats, std::string_view name,
                        const TableOptions& options);

}  // namespace stepscope
