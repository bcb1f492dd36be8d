// CallTree: slices merged by the path of their names, as nodes in one vector. A child is found by
// one probe of a hash table keyed by (parent node, name), so that a million slices take some ten
// milliseconds. Slow equivalent: std::map<std::vector<StringId>, Node>.
//
//   CallTree tree;
//   uint32_t forward = tree.child(CallTree::kRoot, name);
//   tree.node(forward).total_ns += dur_ns;
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/ids.h"

namespace stepscope {

class CallTree {
 public:
  static constexpr uint32_t kRoot = 0;  // holds no slice of its own

  struct Node {
    uint32_t parent = kRoot;
    StringId name = kEmptyString;
    uint32_t depth = 0;  // of kRoot's children: 0
    uint64_t calls = 0;
    int64_t total_ns = 0;
    int64_t children_ns = 0;       // of direct children, shown or not
    uint32_t followed_by = kRoot;  // what child() gave the last time after this node
  };

  CallTree();

  // The node of that name under `parent`, made where there is none.
  uint32_t child(uint32_t parent, StringId name) {
    // Programs repeat themselves: what came after the last node once mostly comes after it again.
    const uint32_t guess = nodes_[last_].followed_by;
    const bool is_right =
        guess != kRoot && nodes_[guess].parent == parent && nodes_[guess].name == name;
    const uint32_t id = is_right ? guess : find_or_add(parent, name);
    nodes_[last_].followed_by = id;
    return last_ = id;
  }
  Node& node(uint32_t id) { return nodes_[id]; }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  uint32_t find_or_add(uint32_t parent, StringId name);
  void grow();
  size_t slot_of(uint32_t parent, StringId name) const;

  std::vector<Node> nodes_;
  uint32_t last_ = kRoot;        // what child() gave
  std::vector<uint32_t> slots_;  // node ids, open addressing, a power of two; 0 is free
};

}  // namespace stepscope
