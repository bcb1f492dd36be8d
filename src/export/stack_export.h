// What the exports of merged stacks (collapsed, flame graph, pprof, callgrind) have in common: the
// tree, the stacks in it, and the words for what such a file has no place for.
//
//   Result<CallTree> tree = build_stacks(trace);
//   if (!tree) return tree.status();
//   for_each_stack(*tree, find_max_level(*tree), [&](const Stack& stack) { … });
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "export/export_options.h"
#include "trace/call_tree.h"
#include "trace/trace.h"

namespace stepscope {

// Fails where the trace has no stacks, and says what can be done with it.
Result<CallTree> build_stacks(const Trace& trace, const ExportOptions& options = {});

// What the weights of samples count. A foreign file may leave it open, or have counted bytes.
enum class WeightUnit { kNs, kNone, kBytes };
WeightUnit weight_unit(const Trace& trace, CallTree::Source source);

struct Stack {
  std::span<const uint32_t> functions;  // of the tree, the outermost first
  uint64_t calls;                       // of samples: those that saw just this stack
  int64_t own_ns;                       // at the deepest level that is written, with all below it
};

// A file that writes every stack out grows with the square of the depth. So levels beyond the one
// given here are left to the function at that level. Depths below 4,000 are always written.
uint32_t find_max_level(const CallTree& tree);

// Every path of the tree, heaviest first, each before those that go on from it.
template <typename Use>
void for_each_stack(const CallTree& tree, uint32_t max_level, Use&& use) {
  const std::vector<CallTree::Node>& nodes = tree.nodes();
  std::vector<uint64_t> passed_on(nodes.size(), 0);  // samples that saw a child as well
  if (tree.source() == CallTree::Source::kSamples) {
    for (const CallTree::Node& node : nodes) {
      if (node.depth <= max_level) passed_on[node.parent] += node.calls;
    }
  }
  std::vector<uint32_t> path;
  for (const uint32_t id : tree.heaviest_first()) {
    const CallTree::Node& node = nodes[id];
    if (node.depth > max_level) continue;
    path.resize(node.depth);
    path.push_back(node.function);
    const int64_t own_ns = node.depth == max_level ? node.total_ns : node.self_ns();
    use(Stack{path, node.calls - passed_on[id], std::max<int64_t>(0, own_ns)});
  }
}

// "f (a.py:17)", as py-spy and viztracer spell it.
std::string frame_text(const CallTree::Function& function);

// What a file of merged stacks leaves out of the trace, as the one sentence for ExportFormat. With
// `max_level` where levels were cut.
std::vector<std::string> describe_left_out(const Trace& trace, const CallTree& tree,
                                           uint32_t max_level = UINT32_MAX);
// The same for formats that keep the timeline of slices and samples.
std::vector<std::string> describe_left_out_of_timeline(const Trace& trace);

}  // namespace stepscope
