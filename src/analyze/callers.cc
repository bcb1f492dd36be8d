// The views `callers` and `callees`: for each function, who called it, or whom it called, how often
// and for how long (pstats' print_callers and print_callees). Functions with the most total time
// come first, and so do their edges.
#include "analyze/function_columns.h"
#include "analyze/sampled_functions.h"
#include "analyze/slice_filter.h"
#include "analyze/views.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace stepscope {
namespace {

enum class Direction { kCallers, kCallees };

Result<std::shared_ptr<const CallGraph>> graph_of(const Trace& trace, const TableOptions& options) {
  if (!options.by.empty()) {
    return Status::error("--by " + options.by + ": callers and callees are by function");
  }
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  if (filter->takes_all()) return call_graph(trace, filter->scope().sample_weight);
  return std::make_shared<const CallGraph>(build_call_graph(trace, filter->scope()));
}

Result<Table> make(const Trace& trace, const TableOptions& options, Direction direction) {
  const auto graph = graph_of(trace, options);
  if (!graph) return graph.status();
  const bool is_callers = direction == Direction::kCallers;
  const std::string other = is_callers ? "caller" : "callee";
  Table table(other + "s");
  FunctionColumns function(table, "name", "");
  FunctionColumns other_function(table, other, other + "_");
  CostColumns cost(table);

  const auto subject = [&](const CallGraph::Edge& edge) {
    return is_callers ? edge.callee : edge.caller;
  };
  std::vector<const CallGraph::Edge*> edges;
  for (const CallGraph::Edge& edge : (*graph)->edges) edges.push_back(&edge);
  const auto comes_before = [&](const CallGraph::Edge* a, const CallGraph::Edge* b) {
    const uint32_t a_id = subject(*a), b_id = subject(*b);
    if (a_id == b_id) return a->cost.total_ns > b->cost.total_ns;
    const int64_t a_ns = (*graph)->functions[a_id].cost.total_ns;
    const int64_t b_ns = (*graph)->functions[b_id].cost.total_ns;
    return a_ns != b_ns ? a_ns > b_ns : a_id < b_id;
  };
  std::stable_sort(edges.begin(), edges.end(), comes_before);
  for (const CallGraph::Edge* edge : edges) {
    function.push((*graph)->functions[subject(*edge)].name);
    other_function.push((*graph)->functions[is_callers ? edge->caller : edge->callee].name);
    cost.push(edge->cost, edge->has_times);
  }
  switch ((*graph)->source) {
    case CallGraph::Source::kSamples:
      table.notes.push_back(sample_note((*graph)->samples, (*graph)->is_cpu_time));
      break;
    case CallGraph::Source::kNone:
      table.notes.push_back(no_functions_note());
      break;
    case CallGraph::Source::kSlices:
    case CallGraph::Source::kCallEdges:
      break;
  }
  return table;
}

}  // namespace

Result<Table> callers(const Trace& trace, const TableOptions& options) {
  return make(trace, options, Direction::kCallers);
}

Result<Table> callees(const Trace& trace, const TableOptions& options) {
  return make(trace, options, Direction::kCallees);
}

}  // namespace stepscope
