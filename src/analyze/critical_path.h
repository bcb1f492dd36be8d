// CriticalPath: the longest path through what had to wait for what (critical_graph.h): the chain
// that a program must shorten to become faster.
//
//   const auto path = CriticalPath::find(trace, "ProfilerStep@1");   // of the second such scope
//   for (const uint32_t edge : path->edges) total_ns += path->graph.edges()[edge].weight_ns;
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/critical_graph.h"
#include "analyze/table.h"
#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

// What the time of an edge is spent on, in HTA's words; "" for one without a weight of its own.
std::string_view critical_bound(const Trace& trace, const CriticalEdge& edge);

struct CriticalPath {
  CriticalGraph graph;
  std::vector<uint32_t> nodes;  // into graph.nodes(), in order
  std::vector<uint32_t> edges;  // into graph.edges(), in order: one less
  uint64_t dropped_edges = 0;   // because they would have closed a circle

  int64_t length_ns() const;
  // Rows of the slices that it goes through, each once, ascending.
  std::vector<uint32_t> find_rows() const;

  // `within` is a part of the name of a scope, and @N for its N-th, counted from 0, in order of
  // time; "" is the whole trace, or what of it `range` takes. Fails where there is no such scope.
  static Result<CriticalPath> find(const Trace& trace, std::string_view within,
                                   const TimeRange& range = {});
};

}  // namespace stepscope
