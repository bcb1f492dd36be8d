// CallGraph: the functions of a trace and who called whom, how often and for how long, as cProfile
// counts it. Views, `.prof` and callgrind files are made from it.
//
//   std::shared_ptr<const CallGraph> graph = call_graph(trace);   // worked out once
//   for (const CallGraph::Edge& edge : graph->edges)
//     use(graph->functions[edge.caller].name, graph->functions[edge.callee].name, edge.cost);
//
// It comes from slices that are function calls, else from call edges (.prof), else from samples; in
// a trace that knows no kinds every name is a function. A caller is the innermost function around
// the call, operators and other slices between them notwithstanding. Threads are summed up.
//
// Recursion: a call is primitive where its function is not open already on its thread, and only
// those add to the total. An edge counts for itself: a call is primitive where the same caller has
// not the same callee open already. So of f -> g -> f the edge g -> f has a primitive call, though
// f has none there. Own time is a duration less that of all slices directly in it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "trace/function_name.h"
#include "trace/slice_scope.h"
#include "trace/trace.h"

namespace stepscope {

struct CallCost {
  uint64_t calls = 0;
  uint64_t primitive_calls = 0;
  int64_t self_ns = 0;
  int64_t total_ns = 0;

  CallCost& operator+=(const CallCost& other);
  friend bool operator==(const CallCost&, const CallCost&) = default;
};

struct CallGraph {
  enum class Source : uint8_t {
    kNone = 0,
    kSlices,
    kCallEdges,
    kSamples,  // times are estimates, and calls are not counted: they are 0
  };
  struct Function {
    FunctionName name;  // of the trace's strings
    CallCost cost;
    bool is_only_caller = false;  // named by an edge, with no figures of its own
  };
  struct Edge {
    uint32_t caller = 0;  // index into functions
    uint32_t callee = 0;
    CallCost cost;
    bool has_times = true;  // false: the file counts calls only, and times are 0
  };

  Source source = Source::kNone;
  std::vector<Function> functions;  // in the order in which they were first seen
  std::vector<Edge> edges;          // by callee; of one callee, as first seen
  uint64_t samples = 0;             // that it was made from
  bool is_cpu_time = false;         // of samples: times are CPU time, not wall time
};

// Of the whole trace, kept with it.
std::shared_ptr<const CallGraph> call_graph(
    const Trace& trace, SampleWeight sample_weight = SampleWeight::kCpuWhereKnown);

// Of a part: calls and samples on some tracks that start in some time. Call edges have neither, and
// are taken whole.
CallGraph build_call_graph(const Trace& trace, const SliceScope& scope);

}  // namespace stepscope
