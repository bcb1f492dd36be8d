// The view `critical_path`: what the longest chain of causes through the trace consists of, by what
// bounds it, in HolisticTraceAnalysis' words:
//
//   cpu_bound, data_loading, gpu_compute_bound, gpu_communication_bound,
//   gpu_kernel_launch_overhead (from a launch to its work), gpu_kernel_kernel_overhead (gaps
//   between work that was launched in time), dependency (edges that take no time)
//
// --by event: the slices that its time belongs to, by name; --by edge: each edge in order; --by
// graph: all edges of the graph, those of the path among them; --by type: how many there are of
// each type. --within NAME[@N]: of one scope.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyze/critical_path.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

double path_share(int64_t part_ns, int64_t whole_ns) {
  return whole_ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(whole_ns) : 0.0;
}

std::string_view bound_name(std::string_view bound) { return bound.empty() ? "dependency" : bound; }

Table make_bounds(const Trace& trace, const CriticalPath& path) {
  struct Bound {
    uint64_t edges = 0;
    int64_t total_ns = 0;
    std::map<StringId, int64_t> by_name;
  };
  std::map<std::string_view, Bound> bounds;
  for (const uint32_t number : path.edges) {
    const CriticalEdge& edge = path.graph.edges()[number];
    Bound& bound = bounds[bound_name(critical_bound(trace, edge))];
    ++bound.edges;
    bound.total_ns += edge.weight_ns;
    // A launch's delay belongs to the work that it delays.
    const uint32_t event =
        edge.type == CriticalEdgeType::kLaunch ? path.graph.nodes()[edge.to].row : edge.event;
    if (event != kNoRow) {
      bound.by_name[trace.labels()[trace.slices().label[event]].name] += edge.weight_ns;
    }
  }
  Table table("critical_path");
  Column& name = table.add("bound_by", ColumnType::kString);
  Column& edges = table.add("edges", ColumnType::kInt, Unit::kCount);
  Column& total = table.add("total_ns", ColumnType::kInt, Unit::kNs);
  Column& fraction = table.add("fraction", ColumnType::kDouble, Unit::kFraction);
  Column& longest = table.add("longest", ColumnType::kString);
  Column& longest_ns = table.add("longest_ns", ColumnType::kInt, Unit::kNs);
  const int64_t length_ns = path.length_ns();
  for (const auto& [key, bound] : bounds) {
    name.push(key);
    edges.push(static_cast<int64_t>(bound.edges));
    total.push(bound.total_ns);
    fraction.push(path_share(bound.total_ns, length_ns));
    const auto most =
        std::max_element(bound.by_name.begin(), bound.by_name.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == bound.by_name.end()) {
      longest.push_null();
      longest_ns.push_null();
    } else {
      longest.push(trace.string(most->first));
      longest_ns.push(most->second);
    }
  }
  table.default_sort = "-total_ns";
  return table;
}

Table make_events(const Trace& trace, const CriticalPath& path) {
  struct Event {
    std::set<uint32_t> rows;
    int64_t total_ns = 0;
  };
  std::map<std::pair<LabelId, std::string_view>, Event> events;
  for (const uint32_t number : path.edges) {
    const CriticalEdge& edge = path.graph.edges()[number];
    if (edge.event == kNoRow) continue;
    Event& event = events[{trace.slices().label[edge.event], critical_bound(trace, edge)}];
    event.rows.insert(edge.event);
    event.total_ns += edge.weight_ns;
  }
  Table table("critical_path");
  Column& name = table.add("name", ColumnType::kString);
  Column& kind = table.add("kind", ColumnType::kString);
  Column& bound_by = table.add("bound_by", ColumnType::kString);
  Column& calls = table.add("calls", ColumnType::kInt, Unit::kCount);
  Column& total = table.add("total_ns", ColumnType::kInt, Unit::kNs);
  Column& fraction = table.add("fraction", ColumnType::kDouble, Unit::kFraction);
  const int64_t length_ns = path.length_ns();
  for (const auto& [key, event] : events) {
    const Label& label = trace.labels()[key.first];
    name.push(trace.string(label.name));
    kind.push(kind_name(label.kind));
    bound_by.push(key.second);
    calls.push(static_cast<int64_t>(event.rows.size()));
    total.push(event.total_ns);
    fraction.push(path_share(event.total_ns, length_ns));
  }
  table.default_sort = "-total_ns";
  return table;
}

Table make_edges(const Trace& trace, const CriticalPath& path, bool are_all) {
  std::vector<uint32_t> numbers = path.edges;
  std::vector<uint8_t> is_critical(path.graph.edges().size(), 0);
  for (const uint32_t number : path.edges) is_critical[number] = 1;
  if (are_all) {
    numbers.resize(path.graph.edges().size());
    std::iota(numbers.begin(), numbers.end(), 0);
    std::stable_sort(numbers.begin(), numbers.end(), [&](uint32_t a, uint32_t b) {
      return path.graph.edges()[a].from < path.graph.edges()[b].from;
    });
  }
  Table table("critical_path");
  Column& edge_column = table.add("edge", ColumnType::kInt);
  Column& type = table.add("type", ColumnType::kString);
  Column& from = table.add("from", ColumnType::kString);
  Column& from_ns = table.add("from_ns", ColumnType::kInt, Unit::kNs);
  Column& to = table.add("to", ColumnType::kString);
  Column& to_ns = table.add("to_ns", ColumnType::kInt, Unit::kNs);
  Column& weight = table.add("weight_ns", ColumnType::kInt, Unit::kNs);
  Column& name = table.add("name", ColumnType::kString);
  Column& bound_by = table.add("bound_by", ColumnType::kString);
  Column& slice = table.add("slice", ColumnType::kInt);
  Column& critical = table.add("critical", ColumnType::kBool);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const CriticalEdge& edge = path.graph.edges()[numbers[i]];
    const auto point = [&](Column& text, Column& time, const CriticalNode& node) {
      text.push(std::string(node.is_start ? "begin of " : "end of ") +
                std::string(trace.slice_name(SliceId{node.row})));
      time.push(node.time_ns - trace.begin_ns());
    };
    edge_column.push(static_cast<int64_t>(i));
    type.push(critical_edge_name(edge.type));
    point(from, from_ns, path.graph.nodes()[edge.from]);
    point(to, to_ns, path.graph.nodes()[edge.to]);
    weight.push(edge.weight_ns);
    if (edge.event == kNoRow) {
      name.push_null();
      slice.push_null();
    } else {
      name.push(trace.slice_name(SliceId{edge.event}));
      slice.push(int64_t{edge.event});
    }
    bound_by.push(bound_name(critical_bound(trace, edge)));
    critical.push(int64_t{is_critical[numbers[i]]});
  }
  return table;
}

Table make_edge_types(const CriticalPath& path) {
  struct Count {
    int64_t edges = 0;
    int64_t zero_edges = 0;
    int64_t path_edges = 0;
    int64_t path_ns = 0;
  };
  std::array<Count, kCriticalEdgeTypes> counts;
  for (const CriticalEdge& edge : path.graph.edges()) {
    Count& count = counts[static_cast<size_t>(edge.type)];
    ++count.edges;
    count.zero_edges += edge.weight_ns == 0;
  }
  for (const uint32_t number : path.edges) {
    const CriticalEdge& edge = path.graph.edges()[number];
    Count& count = counts[static_cast<size_t>(edge.type)];
    ++count.path_edges;
    count.path_ns += edge.weight_ns;
  }
  Table table("critical_path");
  Column& type = table.add("type", ColumnType::kString);
  Column& edges = table.add("graph_edges", ColumnType::kInt, Unit::kCount);
  Column& zero_edges = table.add("graph_zero_edges", ColumnType::kInt, Unit::kCount);
  Column& path_edges = table.add("edges", ColumnType::kInt, Unit::kCount);
  Column& path_ns = table.add("total_ns", ColumnType::kInt, Unit::kNs);
  for (int i = 0; i < kCriticalEdgeTypes; ++i) {
    const Count& count = counts[static_cast<size_t>(i)];
    type.push(critical_edge_name(static_cast<CriticalEdgeType>(i)));
    edges.push(count.edges);
    zero_edges.push(count.zero_edges);
    path_edges.push(count.path_edges);
    path_ns.push(count.path_ns);
  }
  return table;
}

void add_path_notes(Table& table, const CriticalPath& path) {
  if (path.nodes.empty()) {
    table.notes.push_back("nothing in this trace leads to anything else: there is no path");
    return;
  }
  table.notes.push_back("the path has " + std::to_string(path.nodes.size()) + " nodes of " +
                        std::to_string(path.find_rows().size()) + " slices, and " +
                        std::to_string(path.edges.size()) + " edges");
  if (!path.graph.has_sync_events()) {
    table.notes.push_back(
        "the trace has no synchronisation events (cuda_sync): what calls waited for is inferred "
        "from times");
  }
  if (path.dropped_edges > 0) {
    table.notes.push_back(std::to_string(path.dropped_edges) +
                          " edges would lead back in time and are left out");
  }
}

}  // namespace

Result<Table> critical_path(const Trace& trace, const TableOptions& options) {
  const std::string& by = options.by;
  if (!by.empty() && by != "event" && by != "edge" && by != "graph" && by != "type") {
    return Status::error("--by " + by +
                         ": critical_path can be shown by event, edge, graph or type");
  }
  const Result<CriticalPath> path = CriticalPath::find(trace, options.within, options.range);
  if (!path) return path.status();
  Table table = by.empty()      ? make_bounds(trace, *path)
                : by == "event" ? make_events(trace, *path)
                : by == "type"  ? make_edge_types(*path)
                                : make_edges(trace, *path, by == "graph");
  add_path_notes(table, *path);
  return table;
}

}  // namespace stepscope
