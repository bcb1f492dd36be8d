#include "analyze/critical_path.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "analyze/operator_rules.h"
#include "trace/torch_scopes.h"

namespace stepscope {
namespace {

constexpr uint32_t kNoEdge = UINT32_MAX;

// The edges that enter and leave each node, in the order of the graph's edges.
struct Neighbours {
  Neighbours(const CriticalGraph& graph, const std::vector<uint8_t>& is_dropped)
      : first_in(graph.nodes().size() + 1), first_out(graph.nodes().size() + 1) {
    const std::vector<CriticalEdge>& edges = graph.edges();
    for (uint32_t i = 0; i < edges.size(); ++i) {
      if (is_dropped[i] != 0) continue;
      ++first_in[edges[i].to + 1];
      ++first_out[edges[i].from + 1];
    }
    for (size_t i = 1; i < first_in.size(); ++i) {
      first_in[i] += first_in[i - 1];
      first_out[i] += first_out[i - 1];
    }
    in.resize(first_in.back());
    out.resize(first_out.back());
    std::vector<uint32_t> next_in = first_in;
    std::vector<uint32_t> next_out = first_out;
    for (uint32_t i = 0; i < edges.size(); ++i) {
      if (is_dropped[i] != 0) continue;
      in[next_in[edges[i].to]++] = i;
      out[next_out[edges[i].from]++] = i;
    }
  }

  std::vector<uint32_t> first_in, first_out;  // by node
  std::vector<uint32_t> in, out;              // edges
};

// Generation after generation, as networkx does. Shorter than the graph where that has circles.
std::vector<uint32_t> sort_topologically(const CriticalGraph& graph, const Neighbours& neighbours) {
  std::vector<uint32_t> open(graph.nodes().size());
  for (uint32_t node = 0; node < open.size(); ++node) {
    open[node] = neighbours.first_in[node + 1] - neighbours.first_in[node];
  }
  std::vector<uint32_t> order;
  for (const uint32_t node : graph.connected()) {
    if (open[node] == 0) order.push_back(node);
  }
  for (size_t at = 0; at < order.size(); ++at) {
    const uint32_t node = order[at];
    for (uint32_t i = neighbours.first_out[node]; i < neighbours.first_out[node + 1]; ++i) {
      const uint32_t to = graph.edges()[neighbours.out[i]].to;
      if (--open[to] == 0) order.push_back(to);
    }
  }
  return order;
}

// Of paths of equal length it is the one that networkx' dag_longest_path gives.
void find_longest(CriticalPath& path) {
  const CriticalGraph& graph = path.graph;
  std::vector<uint8_t> is_dropped(graph.edges().size(), 0);
  std::optional<Neighbours> neighbours(std::in_place, graph, is_dropped);
  std::vector<uint32_t> order = sort_topologically(graph, *neighbours);
  if (order.size() < graph.connected().size()) {
    for (uint32_t i = 0; i < is_dropped.size(); ++i) {
      is_dropped[i] = graph.edges()[i].to < graph.edges()[i].from;
      path.dropped_edges += is_dropped[i];
    }
    neighbours.emplace(graph, is_dropped);
    order = sort_topologically(graph, *neighbours);
  }
  std::vector<int64_t> length_ns(graph.nodes().size(), 0);
  std::vector<uint32_t> best(graph.nodes().size(), kNoEdge);
  for (const uint32_t node : order) {
    for (uint32_t i = neighbours->first_in[node]; i < neighbours->first_in[node + 1]; ++i) {
      const uint32_t edge = neighbours->in[i];
      const int64_t ns = length_ns[graph.edges()[edge].from] + graph.edges()[edge].weight_ns;
      if (best[node] != kNoEdge && ns <= length_ns[node]) continue;
      best[node] = edge;
      length_ns[node] = ns;
    }
  }
  if (order.empty()) return;
  uint32_t node = order.front();
  for (const uint32_t candidate : order) {
    if (length_ns[candidate] > length_ns[node]) node = candidate;
  }
  path.nodes.push_back(node);
  while (best[node] != kNoEdge) {
    path.edges.push_back(best[node]);
    node = graph.edges()[best[node]].from;
    path.nodes.push_back(node);
  }
  std::reverse(path.nodes.begin(), path.nodes.end());
  std::reverse(path.edges.begin(), path.edges.end());
}

Result<Interval> find_scope(const Trace& trace, std::string_view within) {
  uint64_t instance = 0;
  std::string_view part = within;
  if (const size_t at = within.rfind('@'); at != within.npos) {
    const std::string_view digits = within.substr(at + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), instance);
    if (error == std::errc() && end == digits.data() + digits.size() && !digits.empty()) {
      part = within.substr(0, at);
    } else {
      instance = 0;
    }
  }
  std::vector<uint8_t> is_wanted;
  for (const Label& label : trace.labels().all()) {
    const bool is_on_host = !is_device_work(label.kind) && label.kind != SliceKind::kSpan &&
                            label.kind != SliceKind::kDeviceAnnotation;
    is_wanted.push_back(is_on_host && trace.string(label.name).find(part) != part.npos);
  }
  const SliceColumns& slices = trace.slices();
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < slices.size(); ++row) {
    if (is_wanted[index(slices.label[row])] != 0) rows.push_back(row);
  }
  if (rows.size() <= instance) {
    return Status::error("--within " + std::string(within) + ": there are " +
                         std::to_string(rows.size()) + " scopes of such a name");
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](uint32_t a, uint32_t b) { return slices.start_ns[a] < slices.start_ns[b]; });
  return Interval{slices.start_ns[rows[instance]], slices.end_ns(rows[instance])};
}

bool is_in_input_scope(const Trace& trace, uint32_t row) {
  const SliceColumns& slices = trace.slices();
  for (SliceId at{row}; at != kNoSlice; at = slices.parent[index(at)]) {
    if (is_input_scope(trace.slice_name(at))) return true;
  }
  return false;
}

}  // namespace

std::string_view critical_bound(const Trace& trace, const CriticalEdge& edge) {
  switch (edge.type) {
    case CriticalEdgeType::kKernelKernel:
      return "gpu_kernel_kernel_overhead";
    case CriticalEdgeType::kLaunch:
      return "gpu_kernel_launch_overhead";
    case CriticalEdgeType::kDependency:
    case CriticalEdgeType::kSync:
      return "";
    case CriticalEdgeType::kOperator:
      break;
  }
  if (edge.event == kNoRow) return "cpu_bound";
  const Label& label = trace.labels()[trace.slices().label[edge.event]];
  const WorkType type = find_work_type(label.kind, trace.string(label.name));
  if (type == WorkType::kCommunication) return "gpu_communication_bound";
  if (type != WorkType::kNone) return "gpu_compute_bound";
  return is_in_input_scope(trace, edge.event) ? "data_loading" : "cpu_bound";
}

int64_t CriticalPath::length_ns() const {
  int64_t sum_ns = 0;
  for (const uint32_t edge : edges) sum_ns += graph.edges()[edge].weight_ns;
  return sum_ns;
}

std::vector<uint32_t> CriticalPath::find_rows() const {
  std::vector<uint32_t> rows;
  for (const uint32_t node : nodes) rows.push_back(graph.nodes()[node].row);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

Result<CriticalPath> CriticalPath::find(const Trace& trace, std::string_view within,
                                        const TimeRange& range) {
  Interval window{trace.begin_ns(), trace.end_ns()};
  if (!within.empty()) {
    const Result<Interval> scope = find_scope(trace, within);
    if (!scope) return scope.status();
    window = *scope;
  } else if (range != TimeRange{}) {
    const int64_t length_ns = trace.end_ns() - trace.begin_ns();
    window = {trace.begin_ns() + std::clamp<int64_t>(range.begin_ns, 0, length_ns),
              trace.begin_ns() + std::clamp<int64_t>(range.end_ns, 0, length_ns) - 1};
  }
  CriticalPath path{.graph = CriticalGraph(trace, window)};
  find_longest(path);
  return path;
}

}  // namespace stepscope
