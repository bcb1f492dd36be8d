#include "analyze/call_tree.h"

#include <utility>

namespace stepscope {

CallTree::CallTree() : nodes_(1), slots_(1024, 0) {}

size_t CallTree::slot_of(uint32_t parent, StringId name) const {
  const size_t mask = slots_.size() - 1;
  const uint64_t key = (uint64_t{parent} << 32) | index(name);
  size_t slot = static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> 32) & mask;
  while (slots_[slot] != 0) {
    const Node& node = nodes_[slots_[slot]];
    if (node.parent == parent && node.name == name) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

uint32_t CallTree::find_or_add(uint32_t parent, StringId name) {
  size_t slot = slot_of(parent, name);
  if (slots_[slot] != 0) return slots_[slot];
  if (nodes_.size() * 2 > slots_.size()) {
    grow();
    slot = slot_of(parent, name);
  }
  const auto id = static_cast<uint32_t>(nodes_.size());
  slots_[slot] = id;
  nodes_.push_back(
      {.parent = parent, .name = name, .depth = parent == kRoot ? 0 : nodes_[parent].depth + 1});
  return id;
}

void CallTree::grow() {
  std::vector<uint32_t> old = std::exchange(slots_, std::vector<uint32_t>(slots_.size() * 2, 0));
  for (const uint32_t id : old) {
    if (id != 0) slots_[slot_of(nodes_[id].parent, nodes_[id].name)] = id;
  }
}

}  // namespace stepscope
