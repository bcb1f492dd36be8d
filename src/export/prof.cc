#include "export/prof.h"

#include <memory>
#include <vector>

#include "base/flat_map.h"
#include "base/saturating.h"
#include "export/output_file.h"
#include "export/prof_encoder.h"
#include "trace/call_graph.h"

namespace stepscope {
namespace {

CallFigures to_figures(const CallCost& cost) {
  return {static_cast<int64_t>(cost.calls), static_cast<int64_t>(cost.primitive_calls),
          static_cast<double>(cost.self_ns) / 1e9, static_cast<double>(cost.total_ns) / 1e9};
}

void add(CallFigures& sum, const CallFigures& figures) {
  sum.calls = add_saturating(sum.calls, figures.calls);
  sum.primitive_calls = add_saturating(sum.primitive_calls, figures.primitive_calls);
  sum.self_s += figures.self_s;
  sum.total_s += figures.total_s;
}

uint32_t add_function(CallProfile& profile, const FunctionName& name, CallGraph::Source source) {
  if (source == CallGraph::Source::kCallEdges) {
    return profile.add_function(name.file, name.line, name.name);
  }
  if (name.file.empty()) return profile.add_function(kBuiltInFile, 0, name.name);
  return profile.add_function(name.file, name.line, last_name(name.name));
}

}  // namespace

CallProfile build_call_profile(const Trace& trace, const ExportOptions& options) {
  const std::shared_ptr<const CallGraph> graph = call_graph(trace, options.sample_weight);
  CallProfile profile;
  std::vector<uint32_t> number;  // by function of the graph
  for (const CallGraph::Function& function : graph->functions) {
    number.push_back(add_function(profile, function.name, graph->source));
    if (function.is_only_caller) continue;
    add(profile.add_entry(number.back()).figures, to_figures(function.cost));
  }
  FlatMap places;  // of an edge among the callers of its callee
  for (const CallGraph::Edge& edge : graph->edges) {
    const uint32_t callee = number[edge.callee], caller = number[edge.caller];
    std::vector<CallProfile::Caller>& callers = profile.add_entry(callee).callers;
    const auto [at, is_new] =
        places.try_emplace(uint64_t{callee} << 32 | caller, static_cast<uint32_t>(callers.size()));
    if (is_new) callers.push_back({caller, edge.has_times, {}});
    add(callers[at].figures, to_figures(edge.cost));
  }
  return profile;
}

Status write_prof_file(const Trace& trace, const std::string& path, const ExportOptions& options) {
  const CallProfile profile = build_call_profile(trace, options);
  if (profile.entries().empty()) {
    return Status::error(path + ": not written: the trace has no function calls");
  }
  auto out = OutputFile::create(path);
  if (!out) return out.status();
  (*out)->append(encode_prof(profile));
  return (*out)->finish();
}

}  // namespace stepscope
