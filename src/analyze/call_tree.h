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
    int64_t children_ns = 0;  // of direct children, shown or not
  };

  CallTree();

  // The node of that name under `parent`, made where there is none.
  uint32_t child(uint32_t parent, StringId name);
  Node& node(uint32_t id) { return nodes_[id]; }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  void grow();
  size_t slot_of(uint32_t parent, StringId name) const;

  std::vector<Node> nodes_;
  std::vector<uint32_t> slots_;  // node ids, open addressing, a power of two; 0 is free
};

}  // namespace stepscope
