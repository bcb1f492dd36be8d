#include "analyze/flame.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>

#include "analyze/flame_stacks.h"
#include "base/saturating.h"
#include "trace/path_tree.h"

namespace stepscope {
namespace {

using Node = PathTree::Node;
constexpr uint32_t kNoNode = UINT32_MAX;

double valid_least(double least) { return least > 0 ? std::min(least, 1.0) : 0; }

// The rows to show, in order: node ids. `weights` by node; a node stays where it is above
// `least_weight` and its parent stays, and the heaviest `max_nodes` at that.
std::vector<uint32_t> choose_rows(const std::vector<Node>& nodes,
                                  const std::vector<double>& weights, double least_weight,
                                  size_t max_nodes) {
  std::vector<double> heavy;
  for (uint32_t id = 1; id < nodes.size(); ++id) {
    if (weights[id] >= least_weight) heavy.push_back(weights[id]);
  }
  bool is_above = false;  // what is just as heavy is left out too
  if (heavy.size() > max_nodes) {
    const auto at = heavy.begin() + static_cast<std::ptrdiff_t>(max_nodes);
    std::nth_element(heavy.begin(), at, heavy.end(), std::greater<>());
    least_weight = *at;
    is_above = true;
  }
  // Those that stay, as a tree of their own.
  std::vector<uint32_t> kept = {PathTree::kRoot};
  std::vector<Node> small(1);
  std::vector<int64_t> order_weights = {0};
  std::vector<uint32_t> place(nodes.size(), kNoNode);
  place[PathTree::kRoot] = PathTree::kRoot;
  constexpr double kScale = 1e15;  // weights are fractions
  for (uint32_t id = 1; id < nodes.size(); ++id) {
    const bool is_heavy = is_above ? weights[id] > least_weight : weights[id] >= least_weight;
    if (!is_heavy || place[nodes[id].parent] == kNoNode) continue;
    place[id] = static_cast<uint32_t>(kept.size());
    kept.push_back(id);
    small.push_back({.parent = place[nodes[id].parent]});
    order_weights.push_back(static_cast<int64_t>(std::min(weights[id], 1e3) * kScale));
  }
  std::vector<uint32_t> rows = order_heaviest_first(small, order_weights);
  for (uint32_t& row : rows) row = kept[row];
  return rows;
}

double share_of(int64_t ns, int64_t total_ns) {
  return total_ns > 0 ? static_cast<double>(ns) / static_cast<double>(total_ns) : 0;
}

// Rows and functions, numbered anew in the order in which they are shown.
class Renumbering {
 public:
  Renumbering(size_t nodes, size_t functions)
      : rows_(nodes, -1), functions_(functions, kNoFunction) {}

  int32_t parent_row(const Node& node) const {
    return node.parent == PathTree::kRoot ? -1 : rows_[node.parent];
  }
  void set_row(uint32_t node, size_t row) { rows_[node] = static_cast<int32_t>(row); }
  uint32_t function(uint32_t old, const std::vector<FlameFunction>& from,
                    std::vector<FlameFunction>& to) {
    if (functions_[old] == kNoFunction) {
      functions_[old] = static_cast<uint32_t>(to.size());
      to.push_back(from[old]);
    }
    return functions_[old];
  }

 private:
  std::vector<int32_t> rows_;
  std::vector<uint32_t> functions_;
};

// Functions of both, by file and name.
class SharedFunctions {
 public:
  std::vector<uint32_t> add(const std::vector<FlameFunction>& functions) {
    std::vector<uint32_t> ids;
    ids.reserve(functions.size());
    for (const FlameFunction& function : functions) {
      std::string key = function.file + '\0' + function.name;
      const auto [at, is_new] = by_key_.emplace(std::move(key), all_.size());
      if (is_new) all_.push_back(function);
      ids.push_back(at->second);
    }
    return ids;
  }
  const std::vector<FlameFunction>& all() const { return all_; }

 private:
  std::vector<FlameFunction> all_;
  std::unordered_map<std::string, uint32_t> by_key_;
};

struct SideSums {
  std::vector<int64_t> total_ns, self_ns;
  std::vector<uint64_t> calls;

  void resize(size_t nodes) {
    total_ns.resize(nodes);
    self_ns.resize(nodes);
    calls.resize(nodes);
  }
};

SideSums add_side(const FlameStacks& stacks, const std::vector<uint32_t>& functions,
                  PathTree& tree) {
  SideSums sums;
  std::vector<uint32_t> place(stacks.nodes.size(), PathTree::kRoot);
  for (uint32_t id = 1; id < stacks.nodes.size(); ++id) {
    const Node& node = stacks.nodes[id];
    place[id] = tree.child(place[node.parent], functions[node.function]);
    if (place[id] >= sums.calls.size()) sums.resize(tree.nodes().size());
    add_to(sums.total_ns[place[id]], node.total_ns);
    add_to(sums.self_ns[place[id]], node.self_ns());
    sums.calls[place[id]] += node.calls;
  }
  return sums;
}

}  // namespace

Flame build_flame(const Trace& trace, const FlameOptions& options) {
  const FlameStacks stacks = build_flame_stacks(trace, options);
  Flame flame;
  flame.source = stacks.source;
  flame.total_ns = stacks.total_ns();
  flame.is_estimate = stacks.is_estimate;
  flame.left_out_streams = stacks.left_out_streams;
  flame.cut_at_level = stacks.cut_at_level;
  std::vector<double> weights;
  weights.reserve(stacks.nodes.size());
  for (const Node& node : stacks.nodes) weights.push_back(share_of(node.total_ns, flame.total_ns));
  // Of nothing there are no shares: calls that took no time are all shown.
  const double least = flame.total_ns > 0 ? valid_least(options.least) : 0;
  const std::vector<uint32_t> rows = choose_rows(stacks.nodes, weights, least, options.max_nodes);
  flame.left_out = stacks.left_out + stacks.nodes.size() - 1 - rows.size();
  Renumbering numbers(stacks.nodes.size(), stacks.functions.size());
  for (const uint32_t id : rows) {
    const Node& node = stacks.nodes[id];
    numbers.set_row(id, flame.nodes.size());
    flame.nodes.parent.push_back(numbers.parent_row(node));
    flame.nodes.function.push_back(
        numbers.function(node.function, stacks.functions, flame.functions));
    flame.nodes.total_ns.push_back(node.total_ns);
    flame.nodes.self_ns.push_back(node.self_ns());
    flame.nodes.calls.push_back(node.calls);
  }
  return flame;
}

DiffFlame build_diff_flame(const Trace& trace, const Trace& other, const FlameOptions& options) {
  FlameOptions whole = options;
  whole.focus.reset();
  const FlameStacks first = build_flame_stacks(trace, whole);
  const FlameStacks second = build_flame_stacks(other, whole);
  SharedFunctions functions;
  PathTree tree;
  SideSums sums = add_side(first, functions.add(first.functions), tree);
  SideSums other_sums = add_side(second, functions.add(second.functions), tree);
  const std::vector<Node>& nodes = tree.nodes();
  sums.resize(nodes.size());
  other_sums.resize(nodes.size());

  DiffFlame flame;
  flame.total_ns = first.total_ns();
  flame.other_ns = second.total_ns();
  flame.source = first.source;
  flame.other_source = second.source;
  std::vector<double> weights(nodes.size());
  for (size_t id = 1; id < nodes.size(); ++id) {
    weights[id] = std::max(share_of(sums.total_ns[id], flame.total_ns),
                           share_of(other_sums.total_ns[id], flame.other_ns));
  }
  const std::vector<uint32_t> rows =
      choose_rows(nodes, weights, valid_least(options.least), options.max_nodes);
  flame.left_out = first.left_out + second.left_out + nodes.size() - 1 - rows.size();
  Renumbering numbers(nodes.size(), functions.all().size());
  for (const uint32_t id : rows) {
    numbers.set_row(id, flame.nodes.size());
    flame.nodes.parent.push_back(numbers.parent_row(nodes[id]));
    flame.nodes.function.push_back(
        numbers.function(nodes[id].function, functions.all(), flame.functions));
    flame.nodes.total_ns.push_back(sums.total_ns[id]);
    flame.nodes.other_ns.push_back(other_sums.total_ns[id]);
    flame.nodes.self_ns.push_back(sums.self_ns[id]);
    flame.nodes.other_self_ns.push_back(other_sums.self_ns[id]);
    flame.nodes.calls.push_back(sums.calls[id]);
    flame.nodes.other_calls.push_back(other_sums.calls[id]);
  }
  return flame;
}

}  // namespace stepscope
