#include "export/critical_overlay.h"

#include <algorithm>

#include "analyze/critical_path.h"
#include "export/chrome_json.h"
#include "export/output_file.h"

namespace stepscope {
namespace {

// Viewers bind the end of an arrow to what is open at its moment: just before the end of work.
constexpr int64_t kInsideNs = 1000;

int64_t arrow_time_ns(const Trace& trace, const CriticalNode& node) {
  if (node.is_start) return node.time_ns;
  const SliceColumns& slices = trace.slices();
  const bool is_work = is_device_work(trace.labels()[slices.label[node.row]].kind);
  return node.time_ns - (is_work ? std::min(kInsideNs, slices.dur_ns[node.row]) : 0);
}

ChromeOverlay make_overlay(const Trace& trace, const CriticalPath& path) {
  ChromeOverlay overlay;
  overlay.is_critical.assign(trace.slices().size(), 0);
  for (const uint32_t row : path.find_rows()) overlay.is_critical[row] = 1;
  for (const uint32_t number : path.edges) {
    const CriticalEdge& edge = path.graph.edges()[number];
    if (edge.type == CriticalEdgeType::kOperator || edge.type == CriticalEdgeType::kKernelKernel) {
      continue;
    }
    const CriticalNode& from = path.graph.nodes()[edge.from];
    const CriticalNode& to = path.graph.nodes()[edge.to];
    overlay.arrows.push_back({.from = SliceId{from.row},
                              .to = SliceId{to.row},
                              .from_ns = arrow_time_ns(trace, from),
                              .to_ns = arrow_time_ns(trace, to),
                              .weight_ns = edge.weight_ns,
                              .type = critical_edge_name(edge.type)});
  }
  return overlay;
}

}  // namespace

Result<std::vector<std::string>> write_critical_overlay(const Trace& trace, const std::string& path,
                                                        const ExportOptions& options) {
  const Result<CriticalPath> found = CriticalPath::find(trace, options.within);
  if (!found) return found.status();
  const ChromeOverlay overlay = make_overlay(trace, *found);
  auto out = OutputFile::create(path);
  if (!out) return out.status();
  write_chrome_json(trace, ChromeJsonLayout::kChrome, **out, &overlay);
  if (Status status = (*out)->finish(); !status) return status;
  return std::vector<std::string>{};
}

}  // namespace stepscope
