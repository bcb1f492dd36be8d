// CriticalGraph: what had to wait for what, as HolisticTraceAnalysis has it: a node for the begin
// and one for the end of each operator, runtime call and piece of device work, and edges between
// them whose weights are times.
//
//   operator           from the begin to the end of something, or between things nested in it
//   dependency         0: between top-level operators of a thread; between calls that need one lock
//   launch             from the begin of a call to that of its work, where the stream was free
//   kernel to kernel   from the end of work to the next on its stream, where that had to wait
//   sync               0: from the end of work to the end of a call, or to the begin of work of
//                      another stream, that waits for it
//
// Synchronisation comes from CUDA's own events (cuda_sync); a trace without them has the edges of
// the calls that ended after work that they can have waited for (sync_calls.h).
//
// Edges and nodes are in the order in which the original adds them, because that decides between
// paths of equal length.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/device_slices.h"
#include "analyze/intervals.h"
#include "trace/trace.h"

namespace stepscope {

enum class CriticalEdgeType : uint8_t { kOperator = 0, kDependency, kLaunch, kKernelKernel, kSync };
inline constexpr int kCriticalEdgeTypes = 5;
// As HTA writes them: "critical_path_operator", "critical_path_kernel_launch_delay", …
std::string_view critical_edge_name(CriticalEdgeType type);

struct CriticalNode {
  int64_t time_ns = 0;
  uint32_t row = 0;
  bool is_start = false;
};

struct CriticalEdge {
  uint32_t from = 0;
  uint32_t to = 0;
  CriticalEdgeType type = CriticalEdgeType::kOperator;
  int64_t weight_ns = 0;
  uint32_t event = kNoRow;  // the slice that its time belongs to; operator and kernel to kernel
};

class CriticalGraph {
 public:
  // Of what the host began in the window, with the work that it launched there.
  CriticalGraph(const Trace& trace, const Interval& window);

  const std::vector<CriticalNode>& nodes() const { return nodes_; }  // by time
  const std::vector<CriticalEdge>& edges() const { return edges_; }
  // Nodes with an edge, in the order in which edges met them first.
  const std::vector<uint32_t>& connected() const { return connected_; }
  bool has_sync_events() const { return has_sync_events_; }

 private:
  class Builder;

  std::vector<CriticalNode> nodes_;
  std::vector<CriticalEdge> edges_;
  std::vector<uint32_t> connected_;
  bool has_sync_events_ = false;
};

}  // namespace stepscope
