#include "analyze/flame_stacks.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "base/saturating.h"

namespace stepscope {
namespace {

using Node = PathTree::Node;

class EdgeStacks {
 public:
  EdgeStacks(const CallGraph& graph, const FlameOptions& options)
      : graph_(graph), options_(options), total_ns_(graph.functions.size()) {
    for (size_t i = 0; i < graph.functions.size(); ++i) {
      total_ns_[i] = graph.functions[i].cost.total_ns;
    }
    for (const CallGraph::Edge& edge : graph.edges) {
      if (graph.functions[edge.caller].is_only_caller) {
        add_to(total_ns_[edge.caller], edge.cost.total_ns);
      }
    }
  }

  FlameStacks build() {
    stacks_.source = FlameSource::kCallEdges;
    for (uint32_t id = 0; id < graph_.functions.size(); ++id) {
      const FunctionName& name = graph_.functions[id].name;
      stacks_.functions.push_back({.id = id,
                                   .text = std::string(name.name),
                                   .name = std::string(name.name),
                                   .file = std::string(name.file),
                                   .line = name.line,
                                   .category = "",
                                   .kind = SliceKind::kOther});
    }
    if (options_.focus) {
      if (*options_.focus < graph_.functions.size()) add_focus(*options_.focus);
    } else if (options_.inverted) {
      add_own_times();
    } else {
      add_estimate();
    }
    return std::move(stacks_);
  }

 private:
  uint32_t add_node(uint32_t parent, uint32_t function, int64_t total_ns, int64_t self_ns,
                    uint64_t calls) {
    stacks_.nodes.push_back(
        {.parent = parent,
         .function = function,
         .depth = parent == PathTree::kRoot ? 0 : stacks_.nodes[parent].depth + 1,
         .calls = calls,
         .total_ns = total_ns,
         .children_ns = subtract_saturating(total_ns, std::min(total_ns, self_ns))});
    if (parent == PathTree::kRoot) add_to(stacks_.nodes[PathTree::kRoot].children_ns, total_ns);
    return static_cast<uint32_t>(stacks_.nodes.size() - 1);
  }

  void add_focus(uint32_t focus) {
    const CallCost& cost = graph_.functions[focus].cost;
    const bool inverted = options_.inverted;
    const int64_t total_ns = total_ns_[focus];
    const uint32_t top =
        add_node(PathTree::kRoot, focus, total_ns, inverted ? total_ns : cost.self_ns, cost.calls);
    for (const CallGraph::Edge& edge : graph_.edges) {
      if (edge.caller == edge.callee) continue;  // its own time has it already
      const CallCost& part = edge.cost;
      if (inverted && edge.callee == focus) {
        add_to(stacks_.nodes[top].children_ns, part.total_ns);
        add_node(top, edge.caller, part.total_ns, part.total_ns, part.calls);
      } else if (!inverted && edge.caller == focus) {
        add_node(top, edge.callee, part.total_ns, part.self_ns, part.calls);
      }
    }
  }

  // Each function's own time, and for whom it was spent.
  void add_own_times() {
    std::vector<uint32_t> tops(graph_.functions.size(), PathTree::kRoot);
    for (uint32_t id = 0; id < graph_.functions.size(); ++id) {
      const CallCost& cost = graph_.functions[id].cost;
      if (!graph_.functions[id].is_only_caller) {
        tops[id] = add_node(PathTree::kRoot, id, cost.self_ns, cost.self_ns, cost.calls);
      }
    }
    for (const CallGraph::Edge& edge : graph_.edges) {
      if (tops[edge.callee] == PathTree::kRoot) continue;
      Node& top = stacks_.nodes[tops[edge.callee]];
      add_to(top.children_ns, edge.cost.self_ns);
      add_node(tops[edge.callee], edge.caller, edge.cost.self_ns, edge.cost.self_ns,
               edge.cost.calls);
    }
  }

  std::vector<uint32_t> find_tops() const {
    std::vector<uint8_t> is_called(graph_.functions.size(), 0);
    for (const CallGraph::Edge& edge : graph_.edges) {
      if (edge.caller != edge.callee) is_called[edge.callee] = 1;
    }
    std::vector<uint32_t> tops;
    for (uint32_t id = 0; id < is_called.size(); ++id) {
      if (is_called[id] == 0) tops.push_back(id);
    }
    if (tops.empty() && !total_ns_.empty()) {
      const auto heaviest = std::max_element(total_ns_.begin(), total_ns_.end());
      tops.push_back(static_cast<uint32_t>(heaviest - total_ns_.begin()));
    }
    return tops;
  }

  bool is_on_path(uint32_t node, uint32_t function) const {
    for (; node != PathTree::kRoot; node = stacks_.nodes[node].parent) {
      if (stacks_.nodes[node].function == function) return true;
    }
    return false;
  }

  // The heaviest first, so that what a limit cuts is the lightest.
  void add_estimate() {
    constexpr uint32_t kMaxLevels = 500;
    stacks_.is_estimate = true;
    std::vector<std::vector<uint32_t>> edges_of(graph_.functions.size());  // by caller
    for (uint32_t i = 0; i < graph_.edges.size(); ++i) {
      edges_of[graph_.edges[i].caller].push_back(i);
    }
    std::priority_queue<std::pair<int64_t, uint32_t>> open;  // total, node
    for (const uint32_t top : find_tops()) {
      const CallCost& cost = graph_.functions[top].cost;
      const uint32_t id = add_node(PathTree::kRoot, top, total_ns_[top], cost.self_ns, cost.calls);
      open.emplace(total_ns_[top], id);
    }
    const double least_ns = std::max(1.0, options_.least * static_cast<double>(stacks_.total_ns()));
    while (!open.empty()) {
      const uint32_t id = open.top().second;
      open.pop();
      const Node node = stacks_.nodes[id];
      if (total_ns_[node.function] <= 0 || node.depth + 1 >= kMaxLevels) continue;
      std::vector<uint32_t> called;
      double called_ns = 0;
      for (const uint32_t at : edges_of[node.function]) {
        if (is_on_path(id, graph_.edges[at].callee)) continue;
        called.push_back(at);
        called_ns += static_cast<double>(graph_.edges[at].cost.total_ns);
      }
      // Calls that recurse through each other count in full for each: all of them together can have
      // more than their caller, and get what it has then.
      const double calls_share =
          static_cast<double>(node.total_ns) / static_cast<double>(total_ns_[node.function]);
      double share = calls_share;
      const auto room_ns = static_cast<double>(node.children_ns);
      if (called_ns * share > room_ns) share = room_ns / called_ns;
      for (const uint32_t at : called) {
        const CallGraph::Edge& edge = graph_.edges[at];
        const auto part = [&](auto value) { return static_cast<double>(value) * share; };
        if (part(edge.cost.total_ns) < least_ns || stacks_.nodes.size() > options_.max_nodes) {
          ++stacks_.left_out;
          continue;
        }
        const auto total_ns = static_cast<int64_t>(
            std::min(part(edge.cost.total_ns), static_cast<double>(node.total_ns)));
        const uint32_t child =
            add_node(id, edge.callee, total_ns, static_cast<int64_t>(part(edge.cost.self_ns)),
                     static_cast<uint64_t>(
                         std::llround(static_cast<double>(edge.cost.calls) * calls_share)));
        open.emplace(total_ns, child);
      }
    }
  }

  const CallGraph& graph_;
  const FlameOptions& options_;
  std::vector<int64_t> total_ns_;  // by function
  FlameStacks stacks_;
};

}  // namespace

FlameStacks build_edge_stacks(const CallGraph& graph, const FlameOptions& options) {
  return EdgeStacks(graph, options).build();
}

}  // namespace stepscope
