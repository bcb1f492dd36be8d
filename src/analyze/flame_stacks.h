// FlameStacks: merged stacks before anything is left out of them, whatever they are made of. For
// flame.cc alone.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/flame.h"
#include "trace/call_graph.h"
#include "trace/path_tree.h"
#include "trace/trace.h"

namespace stepscope {

constexpr uint32_t kNoFunction = UINT32_MAX;

struct FlameStacks {
  std::vector<PathTree::Node> nodes{1};  // the root; parents come before their children
  std::vector<FlameFunction> functions;
  FlameSource source = FlameSource::kNothing;
  uint64_t left_out = 0;
  bool is_estimate = false;
  bool left_out_streams = false;
  uint32_t cut_at_level = 0;

  int64_t total_ns() const { return nodes[PathTree::kRoot].children_ns; }
};

// Of scope, kinds, focus and direction as the options ask.
FlameStacks build_flame_stacks(const Trace& trace, const FlameOptions& options);
// Of a .prof: focus and direction count, and what limits an estimate.
FlameStacks build_edge_stacks(const CallGraph& graph, const FlameOptions& options);

}  // namespace stepscope
