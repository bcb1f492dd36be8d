// The list of views, and the one way in which front ends make them.
#include "analyze/row_order.h"
#include "analyze/views.h"
#include "base/check.h"

#include <algorithm>
#include <array>
#include <string>

namespace stepscope {
namespace {

constexpr std::array kViews = {
    View{"overview", "the trace at a glance: span, steps, devices, what costs most", "", 0,
         overview, nullptr},
    View{"steps", "where the time of each training step goes", "", 50, steps, nullptr, true},
    View{"phases", "what the training thread spent each step on: input, forward, backward, …", "",
         50, phases, nullptr, true},
    View{"input", "stages of input pipelines (tf.data): what each costs, what is waited for", "", 0,
         input, nullptr},
    View{"operators", "framework operators on the host, by name (--by shape, --by stack)",
         "-self_host_ns", 20, operators, stream_operators, true},
    View{"modules", "calls of nn.Module, by name", "-total_host_ns", 20, modules, nullptr},
    View{"kernels", "what ran on the devices, by name", "-total_ns", 20, kernels, stream_kernels,
         true},
    View{"devices", "how busy each device was, and how well it was used", "", 0, devices, nullptr,
         true},
    View{"ranks", "the ranks of a job: computing, communicating, waiting; who is slow, and why", "",
         50, ranks, nullptr},
    View{"collectives", "collectives by type and size: bandwidth, waiting, skew (--by rank)",
         "-total_ns", 50, collectives, nullptr},
    View{"gpu",
         "what each device's time went into (--by stream: why it was idle; type, annotation)", "",
         50, gpu, nullptr},
    View{"launches", "how the host feeds the devices: delays, short work, queues (--by stream)", "",
         50, launch_stats, nullptr},
    View{"copies", "copies of device memory: how much, how fast (--by time)", "", 50, copies,
         nullptr},
    View{"syncs", "calls that make the host wait for a device, and for what", "", 20, syncs,
         nullptr},
    View{"critical_path", "the chain of causes that takes longest (--within SCOPE; --by event)", "",
         50, critical_path, nullptr},
    View{"sequences", "kernels that often follow each other: what could be fused (--by stream)", "",
         20, sequences, nullptr},
    View{"roofline", "operators against what their device can compute and move", "", 20, roofline,
         nullptr},
    View{"cupti", "hardware counters of kernels, with the operators that launched them", "", 50,
         cupti, nullptr},
    View{"memory", "memory over time (--by category), or by operator (--by operator)", "", 50,
         memory, nullptr},
    View{"functions", "calls, own and total time of each function", "-self_ns", 20, functions,
         stream_functions, true},
    View{"lines", "lines of the program's own code: Python, native code or waiting", "-self_ns", 20,
         lines, nullptr},
    View{"callers", "who called each function, how often and for how long", "", 40, callers,
         nullptr},
    View{"callees", "whom each function called, how often and for how long", "", 40, callees,
         nullptr},
    View{"tree", "who called what: the call tree, merged by name (--depth, --heaviest)", "", 60,
         tree, nullptr},
    View{"tracks", "the lanes of the trace: threads, streams, counters", "", 50, tracks, nullptr},
};

Status check_limit(const TableOptions& options) {
  if (options.limit >= -1) return {};
  return Status::error("--limit " + std::to_string(options.limit) +
                       ": must be 0 (all rows) or more");
}

// What all views have in common: rows and stats.
Result<Table> finish(const View& view, Result<Table> table, const Stats& stats,
                     const TableOptions& options) {
  if (!table) return table;
  Status status = filter_rows(*table, options.filter);
  if (!status) return status;
  // A view may lack the column of its default order, depending on --by.
  const std::string default_sort =
      table->default_sort.empty() ? std::string(view.default_sort) : table->default_sort;
  const std::string_view default_column =
      std::string_view(default_sort).substr(std::min<size_t>(1, default_sort.size()));
  if (!options.sort.empty()) {
    status = sort_rows(*table, options.sort);
  } else if (table->find(default_column) != nullptr) {
    status = sort_rows(*table, default_sort);
  }
  if (!status) return status;
  limit_rows(*table, options.limit < 0 ? view.default_limit : options.limit);
  table->stats = stats;
  return table;
}

Result<Table> make_whole(const Trace& trace, const View& view, const TableOptions& options) {
  const bool is_plain = options.range == TimeRange{} && options.track.empty() &&
                        options.by.empty() && options.within.empty() && options.weight.empty() &&
                        options.depth < 0 && !options.heaviest;
  if (!is_plain || !view.is_kept) return view.make(trace, options);
  return *trace.derived().get<Result<Table>>(view.name, [&] { return view.make(trace, {}); });
}

}  // namespace

std::span<const View> views() { return kViews; }

Status unknown_view(std::string_view name, std::span<const View> known) {
  std::string names;
  for (const View& view : known) names += (names.empty() ? "" : ", ") + std::string(view.name);
  return Status::error("unknown view '" + std::string(name) + "'; there are: " + names);
}

const View* find_view(std::string_view name) {
  const auto it = std::find_if(kViews.begin(), kViews.end(),
                               [&](const View& view) { return view.name == name; });
  return it == kViews.end() ? nullptr : &*it;
}

Result<Table> make_whole_view(const Trace& trace, std::string_view name,
                              const TableOptions& options) {
  const View* view = find_view(name);
  CHECK(view != nullptr, "the view was looked up before");
  return make_whole(trace, *view, options);
}

Result<Table> make_view(const Trace& trace, const View& view, const TableOptions& options) {
  if (Status status = check_limit(options); !status) return status;
  return finish(view, make_whole(trace, view, options), trace.stats(), options);
}

Result<Table> make_view(const Trace& trace, std::string_view name, const TableOptions& options) {
  const View* view = find_view(name);
  return view != nullptr ? make_view(trace, *view, options) : unknown_view(name, kViews);
}

Result<Table> make_view(SliceStream& stream, const Stats& stats, std::string_view name,
                        const TableOptions& options) {
  const View* view = find_view(name);
  if (view == nullptr) return unknown_view(name, kViews);
  if (Status status = check_limit(options); !status) return status;
  if (view->make_from_stream == nullptr) {
    return Status::error("the view '" + std::string(name) + "' needs the whole trace in memory");
  }
  return finish(*view, view->make_from_stream(stream, options), stats, options);
}

}  // namespace stepscope
