#include "trace/call_graph.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/flat_map.h"
#include "base/saturating.h"
#include "trace/call_counter.h"
#include "trace/sample_weights.h"
#include "trace/stack_walk.h"

namespace stepscope {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

FunctionName name_of(const Trace& trace, const Frame& frame) {
  return {trace.string(frame.name), trace.string(frame.file), frame.line};
}

// Gives functions numbers in the order in which they are asked for.
class FrameFunctions {
 public:
  FrameFunctions(const Trace& trace, CallGraph& graph)
      : trace_(trace), graph_(graph), function_of_(trace.frames().size(), kNone) {}

  uint32_t number(FrameId frame) {
    uint32_t& function = function_of_[index(frame)];
    if (function == kNone) {
      function = static_cast<uint32_t>(graph_.functions.size());
      graph_.functions.push_back({name_of(trace_, trace_.frames()[index(frame)]), {}, true});
    }
    return function;
  }
  bool knows(FrameId frame) const { return index(frame) < function_of_.size(); }

 private:
  const Trace& trace_;
  CallGraph& graph_;
  std::vector<uint32_t> function_of_;  // by frame
};

void sort_edges(CallGraph& graph) {
  std::stable_sort(
      graph.edges.begin(), graph.edges.end(),
      [](const CallGraph::Edge& a, const CallGraph::Edge& b) { return a.callee < b.callee; });
}

// A row whose caller is the root holds the callee's own figures; where a function has none, its
// callers are summed.
CallGraph graph_of_call_edges(const Trace& trace) {
  const CallEdgeColumns& columns = trace.call_edges();
  CallGraph graph;
  graph.source = CallGraph::Source::kCallEdges;
  FrameFunctions functions(trace, graph);
  for (size_t i = 0; i < columns.callee.size(); ++i) {
    if (columns.caller[i] != kNoFrame || !functions.knows(columns.callee[i])) continue;
    CallGraph::Function& function = graph.functions[functions.number(columns.callee[i])];
    function.cost +=
        {columns.calls[i], columns.primitive_calls[i], columns.self_ns[i], columns.total_ns[i]};
    function.is_only_caller = false;
  }
  FlatMap edges_by_key;
  for (size_t i = 0; i < columns.callee.size(); ++i) {
    if (!functions.knows(columns.caller[i]) || !functions.knows(columns.callee[i])) continue;
    const uint32_t callee = functions.number(columns.callee[i]);
    const uint32_t caller = functions.number(columns.caller[i]);
    const bool has_times = columns.self_ns[i] != kNoCallTimeNs;
    const CallCost cost{columns.calls[i], columns.primitive_calls[i],
                        has_times ? columns.self_ns[i] : 0, has_times ? columns.total_ns[i] : 0};
    const auto [edge, is_new] = edges_by_key.try_emplace(uint64_t{caller} << 32 | callee,
                                                         static_cast<uint32_t>(graph.edges.size()));
    if (is_new) graph.edges.push_back({caller, callee, {}, has_times});
    graph.edges[edge].cost += cost;
  }
  sort_edges(graph);
  std::vector<uint8_t> has_own(graph.functions.size());
  for (size_t i = 0; i < has_own.size(); ++i) has_own[i] = !graph.functions[i].is_only_caller;
  for (const CallGraph::Edge& edge : graph.edges) {
    if (has_own[edge.callee] != 0) continue;
    graph.functions[edge.callee].cost += edge.cost;
    graph.functions[edge.callee].is_only_caller = false;
  }
  return graph;
}

// Sums up the times of stacks by function and by edge: a walk over the tree of stacks that knows
// what is open above each node.
class SampleWalk {
 public:
  SampleWalk(const Trace& trace, std::vector<int64_t> weight_ns, CallGraph& graph)
      : stacks_(trace.stacks()),
        weight_ns_(std::move(weight_ns)),
        functions_(trace, graph),
        graph_(graph) {
    subtree_ns_ = weight_ns_;
    // One pass backwards sums up whole subtrees.
    for (auto i = static_cast<uint32_t>(stacks_.size()); i-- > 0;) {
      if (const uint32_t parent = parent_of_stack(stacks_, i); parent != kNoParent) {
        subtree_ns_[parent] = add_saturating(subtree_ns_[parent], subtree_ns_[i]);
      }
    }
  }

  void run() {
    walk_stacks(
        stacks_,
        [&](uint32_t node) {
          if (functions_.knows(stacks_[node].frame)) open(node);
        },
        [&](uint32_t node) {
          if (functions_.knows(stacks_[node].frame)) close();
        });
    for (CallGraph::Function& function : graph_.functions) {
      function.is_only_caller = function.cost.total_ns == 0;
    }
  }

 private:
  struct OpenCall {
    uint32_t function;
    uint32_t edge;  // kNone at the top
  };

  void open(uint32_t node) {
    const uint32_t function = functions_.number(stacks_[node].frame);
    open_functions_.resize(graph_.functions.size());
    add(graph_.functions[function].cost, open_functions_[function], node);
    uint32_t edge = kNone;
    if (!calls_.empty()) {
      const uint64_t key = uint64_t{calls_.back().function} << 32 | function;
      const auto found = edges_by_key_.try_emplace(key, static_cast<uint32_t>(graph_.edges.size()));
      edge = found.value;
      if (found.is_new) graph_.edges.push_back({calls_.back().function, function, {}, true});
      open_edges_.resize(graph_.edges.size());
      add(graph_.edges[edge].cost, open_edges_[edge], node);
    }
    calls_.push_back({function, edge});
  }

  void add(CallCost& cost, uint32_t& open, uint32_t node) const {
    cost.self_ns = add_saturating(cost.self_ns, weight_ns_[node]);
    if (open++ == 0) cost.total_ns = add_saturating(cost.total_ns, subtree_ns_[node]);
  }

  void close() {
    const OpenCall call = calls_.back();
    calls_.pop_back();
    --open_functions_[call.function];
    if (call.edge != kNone) --open_edges_[call.edge];
  }

  std::span<const StackNode> stacks_;
  std::vector<int64_t> weight_ns_;  // by stack
  std::vector<int64_t> subtree_ns_;
  FrameFunctions functions_;
  CallGraph& graph_;
  FlatMap edges_by_key_;
  std::vector<OpenCall> calls_;
  std::vector<uint32_t> open_functions_, open_edges_;
};

CallGraph graph_of_samples(const Trace& trace, const SliceScope& scope) {
  const SampleColumns& samples = trace.samples();
  CallGraph graph;
  graph.source = CallGraph::Source::kSamples;
  const SampleWeights weights(samples, scope.sample_weight);
  graph.is_cpu_time = weights.is_cpu();
  std::vector<int64_t> weight_ns(trace.stacks().size(), 0);
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!scope.takes_track(samples.track[i]) || !scope.takes_time(samples.time_ns[i])) continue;
    if (index(samples.stack[i]) >= weight_ns.size() || !weights.counts(i)) continue;
    int64_t& weight = weight_ns[index(samples.stack[i])];
    weight = add_saturating(weight, weights[i]);
    graph.samples += samples.get_count(i);
  }
  SampleWalk(trace, std::move(weight_ns), graph).run();
  sort_edges(graph);
  return graph;
}

// Of the functions that are known as such, or of the others.
CallGraph graph_of_slices(const Trace& trace, const CallCounter& counter, bool of_known) {
  CallGraph graph;
  graph.source = CallGraph::Source::kSlices;
  const std::vector<CallCounter::Function>& counted = counter.functions();
  std::vector<uint8_t> is_named(counted.size(), 0);
  for (const CallCounter::Edge& edge : counter.edges()) is_named[edge.caller] = 1;
  std::vector<uint32_t> number(counted.size(), kNone);
  for (size_t i = 0; i < counted.size(); ++i) {
    const bool is_counted = counted[i].cost.calls > 0;
    if (counted[i].is_known != of_known || (!is_counted && is_named[i] == 0)) continue;
    number[i] = static_cast<uint32_t>(graph.functions.size());
    graph.functions.push_back(
        {parse_function_name(trace.string(counted[i].name)), counted[i].cost, !is_counted});
  }
  for (const CallCounter::Edge& edge : counter.edges()) {
    if (counted[edge.callee].is_known != of_known) continue;
    graph.edges.push_back({number[edge.caller], number[edge.callee], edge.cost, true});
  }
  sort_edges(graph);
  return graph;
}

}  // namespace

CallCost& CallCost::operator+=(const CallCost& other) {
  calls += other.calls;
  primitive_calls += other.primitive_calls;
  self_ns = add_saturating(self_ns, other.self_ns);
  total_ns = add_saturating(total_ns, other.total_ns);
  return *this;
}

CallGraph build_call_graph(const Trace& trace, const SliceScope& scope) {
  TraceSliceStream stream(trace);
  CallCounter counter(stream, scope, CallCounter::Edges::kCounted);
  SliceBlock block;
  while (*stream.next(block)) {
    if (scope.takes_track(block.track)) counter.add(block);
  }
  counter.close_track();
  if (counter.has_known()) return graph_of_slices(trace, counter, true);
  if (!trace.call_edges().callee.empty()) return graph_of_call_edges(trace);
  if (!trace.samples().time_ns.empty()) return graph_of_samples(trace, scope);
  if (counter.knows_no_kinds()) return graph_of_slices(trace, counter, false);
  return {};
}

std::shared_ptr<const CallGraph> call_graph(const Trace& trace, SampleWeight sample_weight) {
  const bool is_wall = sample_weight == SampleWeight::kWall;
  return trace.derived().get<CallGraph>(is_wall ? "call graph by wall time" : "call graph", [&] {
    SliceScope scope;
    scope.sample_weight = sample_weight;
    return build_call_graph(trace, scope);
  });
}

}  // namespace stepscope
