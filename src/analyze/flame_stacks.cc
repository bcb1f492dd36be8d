#include "analyze/flame_stacks.h"

#include <algorithm>

#include "base/saturating.h"
#include "trace/call_tree.h"

namespace stepscope {
namespace {

using Node = PathTree::Node;

// A node of stacks that are added one by one: its own time is what no child takes.
void add_time(PathTree& tree, uint32_t id, int64_t ns, uint64_t calls) {
  add_to(tree.node(id).total_ns, ns);
  tree.node(id).calls += calls;
  add_to(tree.node(tree.nodes()[id].parent).children_ns, ns);
}

std::vector<FlameFunction> functions_of(const Trace& trace, const CallTree& tree) {
  std::vector<FlameFunction> functions;
  functions.reserve(tree.functions().size());
  for (const CallTree::Function& function : tree.functions()) {
    FlameFunction& out = functions.emplace_back();
    out.id = function.id;
    out.text = function.text;
    out.name = function.name;
    out.file = function.file;
    out.line = function.line;
    if (tree.source() != CallTree::Source::kSlices) continue;
    const Label& label = trace.labels()[LabelId{function.id}];
    out.category = trace.string(label.category);
    out.kind = label.kind;
  }
  return functions;
}

uint32_t find_function(const CallTree& tree, uint32_t id) {
  if (tree.source() == CallTree::Source::kSlices) {
    return id < tree.function_of_label().size() ? tree.function_of_label()[id] : kNoFunction;
  }
  return id < tree.functions().size() ? id : kNoFunction;  // of samples they are the frames
}

// Whether each node is an outermost call of the function, or below one.
enum class Place : uint8_t { kOutside, kOutermost, kBelow };

std::vector<Place> find_places(const std::vector<Node>& nodes, uint32_t function) {
  std::vector<Place> places(nodes.size(), Place::kOutside);
  for (uint32_t id = 1; id < nodes.size(); ++id) {
    if (places[nodes[id].parent] != Place::kOutside) {
      places[id] = Place::kBelow;
    } else if (nodes[id].function == function) {
      places[id] = Place::kOutermost;
    }
  }
  return places;
}

std::vector<Node> build_focused(const std::vector<Node>& nodes, uint32_t function) {
  const std::vector<Place> places = find_places(nodes, function);
  PathTree tree;
  std::vector<uint32_t> moved(nodes.size(), PathTree::kRoot);
  for (uint32_t id = 1; id < nodes.size(); ++id) {
    if (places[id] == Place::kOutside) continue;
    const uint32_t parent =
        places[id] == Place::kOutermost ? PathTree::kRoot : moved[nodes[id].parent];
    moved[id] = tree.child(parent, nodes[id].function);
    add_time(tree, moved[id], nodes[id].total_ns, nodes[id].calls);
  }
  return tree.nodes();
}

// Turned around, a stack is written out whole: that grows with the square of the depth. The level
// at which to cut, so that all of them together stay within a budget; 0: none is cut.
uint32_t find_cut(const std::vector<Node>& nodes, const std::vector<uint8_t>& is_leaf) {
  constexpr uint64_t kMaxSteps = 4'000'000;
  std::vector<uint64_t> reach;  // by level: how many stacks reach it
  for (uint32_t id = 1; id < nodes.size(); ++id) {
    if (is_leaf[id] == 0) continue;
    if (nodes[id].depth >= reach.size()) reach.resize(nodes[id].depth + 1);
    ++reach[nodes[id].depth];
  }
  for (size_t level = reach.size(); level-- > 1;) reach[level - 1] += reach[level];
  uint64_t steps = 0;
  for (size_t level = 0; level < reach.size(); ++level) {
    steps += reach[level];
    if (steps > kMaxSteps) return static_cast<uint32_t>(std::max<size_t>(level, 1));
  }
  return 0;
}

// From each function up to who called it: of the whole by own times; with a focus, of the time of
// its outermost calls.
std::vector<Node> build_inverted(const std::vector<Node>& nodes, uint32_t focus, bool is_samples,
                                 uint32_t& cut_at_level) {
  const bool has_focus = focus != kNoFunction;
  const std::vector<Place> places = has_focus ? find_places(nodes, focus) : std::vector<Place>();
  std::vector<uint8_t> is_leaf(nodes.size(), 1);
  std::vector<uint64_t> passed_on(nodes.size(), 0);  // samples that saw a child as well
  for (uint32_t id = 1; id < nodes.size(); ++id) {
    if (has_focus) is_leaf[id] = places[id] == Place::kOutermost;
    if (is_samples && !has_focus) passed_on[nodes[id].parent] += nodes[id].calls;
  }
  cut_at_level = find_cut(nodes, is_leaf);
  PathTree tree;
  for (uint32_t id = 1; id < nodes.size(); ++id) {
    const Node& leaf = nodes[id];
    const uint64_t calls = leaf.calls - std::min(leaf.calls, passed_on[id]);
    const int64_t ns = has_focus ? leaf.total_ns : std::max<int64_t>(0, leaf.self_ns());
    if (is_leaf[id] == 0 || (ns == 0 && calls == 0)) continue;
    uint32_t at = PathTree::kRoot;
    uint32_t levels = 0;
    for (uint32_t from = id; from != PathTree::kRoot; from = nodes[from].parent) {
      if (cut_at_level != 0 && levels++ == cut_at_level) break;
      at = tree.child(at, nodes[from].function);
      add_time(tree, at, ns, calls);
    }
  }
  return tree.nodes();
}

FlameStacks build_path_stacks(const Trace& trace, const CallTree& tree,
                              const FlameOptions& options) {
  FlameStacks stacks;
  const bool is_samples = tree.source() == CallTree::Source::kSamples;
  stacks.source = is_samples ? FlameSource::kSamples : FlameSource::kSlices;
  stacks.left_out_streams = tree.left_out_streams();
  stacks.functions = functions_of(trace, tree);
  uint32_t focus = kNoFunction;
  if (options.focus) {
    focus = find_function(tree, *options.focus);
    if (focus == kNoFunction) return stacks;
  }
  if (options.inverted) {
    stacks.nodes = build_inverted(tree.nodes(), focus, is_samples, stacks.cut_at_level);
  } else {
    stacks.nodes = options.focus ? build_focused(tree.nodes(), focus) : tree.nodes();
  }
  return stacks;
}

}  // namespace

FlameStacks build_flame_stacks(const Trace& trace, const FlameOptions& options) {
  const CallTree tree = CallTree::build(trace, options.scope, UINT32_MAX, options.kinds);
  if (!tree.is_empty()) return build_path_stacks(trace, tree, options);
  if (trace.slices().size() == 0 && !trace.call_edges().callee.empty()) {
    return build_edge_stacks(*call_graph(trace), options);
  }
  FlameStacks stacks;
  stacks.left_out_streams = tree.left_out_streams();
  return stacks;
}

}  // namespace stepscope
