// PathTree: a tree whose nodes are the distinct paths of functions that were seen, with their
// sums. What merges stacks is made of one: CallTree, and flame graphs that are turned around.
// Children always come after their parents in nodes(). No recursion; memory goes with the number of
// distinct paths.
//
//   PathTree tree;
//   uint32_t node = tree.child(PathTree::kRoot, main);
//   tree.node(tree.child(node, work)).total_ns += 17;
//
// A child is found by one probe of a hash table keyed by (parent node, function). Slow equivalent:
// std::map<std::vector<Function>, Node>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/saturating.h"

namespace stepscope {

class PathTree {
 public:
  static constexpr uint32_t kRoot = 0;  // holds no call of its own

  struct Node {
    uint32_t parent = kRoot;
    uint32_t function = 0;
    uint32_t depth = 0;  // of kRoot's children: 0
    uint64_t calls = 0;
    int64_t total_ns = 0;
    int64_t children_ns = 0;       // of direct children, also of such as have no node
    uint32_t followed_by = kRoot;  // what child() gave the last time after this node

    // Below 0 where children overlap each other.
    int64_t self_ns() const { return subtract_saturating(total_ns, children_ns); }
  };

  PathTree() : nodes_(1), slots_(1024, 0) {}

  const std::vector<Node>& nodes() const { return nodes_; }
  Node& node(uint32_t id) { return nodes_[id]; }

  // The node of that function under `parent`, made where there is none.
  uint32_t child(uint32_t parent, uint32_t function) {
    // Programs repeat themselves: what came after the last node once mostly comes after it again.
    const uint32_t guess = nodes_[last_].followed_by;
    const bool is_right =
        guess != kRoot && nodes_[guess].parent == parent && nodes_[guess].function == function;
    const uint32_t id = is_right ? guess : find_or_add(parent, function);
    nodes_[last_].followed_by = id;
    return last_ = id;
  }

 private:
  uint32_t find_or_add(uint32_t parent, uint32_t function);
  void grow();
  size_t slot_of(uint32_t parent, uint32_t function) const;

  std::vector<Node> nodes_;
  uint32_t last_ = kRoot;        // what child() gave
  std::vector<uint32_t> slots_;  // node ids, open addressing, a power of two; 0 is free
};

// All nodes but the root, each before its children, siblings by weight, the heaviest first.
// Of equal ones, the one that was seen first. Weights are by node; without them, total times.
std::vector<uint32_t> order_heaviest_first(const std::vector<PathTree::Node>& nodes,
                                           const std::vector<int64_t>& weights);
std::vector<uint32_t> order_heaviest_first(const std::vector<PathTree::Node>& nodes);

}  // namespace stepscope
