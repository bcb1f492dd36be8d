#include "trace/path_tree.h"

#include <algorithm>
#include <utility>

namespace stepscope {

size_t PathTree::slot_of(uint32_t parent, uint32_t function) const {
  const size_t mask = slots_.size() - 1;
  const uint64_t key = (uint64_t{parent} << 32) | function;
  size_t slot = static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> 32) & mask;
  while (slots_[slot] != 0) {
    const Node& node = nodes_[slots_[slot]];
    if (node.parent == parent && node.function == function) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

uint32_t PathTree::find_or_add(uint32_t parent, uint32_t function) {
  size_t slot = slot_of(parent, function);
  if (slots_[slot] != 0) return slots_[slot];
  if (nodes_.size() * 2 > slots_.size()) {
    grow();
    slot = slot_of(parent, function);
  }
  const auto id = static_cast<uint32_t>(nodes_.size());
  slots_[slot] = id;
  nodes_.push_back({.parent = parent,
                    .function = function,
                    .depth = parent == kRoot ? 0 : nodes_[parent].depth + 1});
  return id;
}

void PathTree::grow() {
  std::vector<uint32_t> old = std::exchange(slots_, std::vector<uint32_t>(slots_.size() * 2, 0));
  for (const uint32_t id : old) {
    if (id != 0) slots_[slot_of(nodes_[id].parent, nodes_[id].function)] = id;
  }
}

std::vector<uint32_t> order_heaviest_first(const std::vector<PathTree::Node>& nodes,
                                           const std::vector<int64_t>& weights) {
  // Sorted once, then linked per parent.
  std::vector<uint32_t> sorted;
  sorted.reserve(nodes.size());
  for (uint32_t id = 1; id < nodes.size(); ++id) sorted.push_back(id);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](uint32_t a, uint32_t b) { return weights[a] > weights[b]; });
  std::vector<uint32_t> first(nodes.size(), 0), next(nodes.size(), 0);
  for (size_t i = sorted.size(); i-- > 0;) {
    next[sorted[i]] = first[nodes[sorted[i]].parent];
    first[nodes[sorted[i]].parent] = sorted[i];
  }
  std::vector<uint32_t> order;
  order.reserve(sorted.size());
  std::vector<uint32_t> open;
  if (first[PathTree::kRoot] != 0) open.push_back(first[PathTree::kRoot]);
  while (!open.empty()) {
    const uint32_t id = open.back();
    open.pop_back();
    order.push_back(id);
    if (next[id] != 0) open.push_back(next[id]);
    if (first[id] != 0) open.push_back(first[id]);
  }
  return order;
}

std::vector<uint32_t> order_heaviest_first(const std::vector<PathTree::Node>& nodes) {
  std::vector<int64_t> totals_ns;
  totals_ns.reserve(nodes.size());
  for (const PathTree::Node& node : nodes) totals_ns.push_back(node.total_ns);
  return order_heaviest_first(nodes, totals_ns);
}

}  // namespace stepscope
