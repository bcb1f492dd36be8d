// A walk over the tree of stacks that calls open(node) on the way down and close(node) on the way
// up, so that its user knows at each node what is above it. Nothing recurses: a stack of 60,000
// levels is 60,000 turns of a loop.
//
//   walk_stacks(trace.stacks(), [&](uint32_t node) { … }, [&](uint32_t node) { … });
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trace/columns.h"

namespace stepscope {

inline constexpr uint32_t kNoParent = UINT32_MAX;

// A parent is made before its children; whatever else a file says is no parent.
inline uint32_t parent_of_stack(std::span<const StackNode> stacks, uint32_t node) {
  const uint32_t parent = index(stacks[node].parent);
  return parent < node ? parent : kNoParent;
}

template <typename Open, typename Close>
void walk_stacks(std::span<const StackNode> stacks, Open&& open, Close&& close) {
  // The children of each node as linked lists; the last slot holds those without a parent.
  const auto size = static_cast<uint32_t>(stacks.size());
  std::vector<uint32_t> first(stacks.size() + 1, kNoParent);
  std::vector<uint32_t> next(stacks.size(), kNoParent);
  for (uint32_t i = size; i-- > 0;) {
    const uint32_t parent = parent_of_stack(stacks, i);
    next[i] = std::exchange(first[parent == kNoParent ? size : parent], i);
  }
  std::vector<std::pair<uint32_t, bool>> walk;  // node, and whether it closes
  if (first[size] != kNoParent) walk.emplace_back(first[size], false);
  while (!walk.empty()) {
    const auto [node, closes] = walk.back();
    walk.pop_back();
    if (closes) {
      close(node);
      continue;
    }
    if (next[node] != kNoParent) walk.emplace_back(next[node], false);
    walk.emplace_back(node, true);
    open(node);
    if (first[node] != kNoParent) walk.emplace_back(first[node], false);
  }
}

}  // namespace stepscope
