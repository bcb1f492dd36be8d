// TraceMerger: several traces, each by a clock of its own, as one. What is only unique within a
// trace (process ids, correlation ids, ids of arrows, numbers of devices) is told apart, so that a
// kernel still finds the launch of its own rank.
//
//   TraceMerger merger;
//   merger.add(*first, 0, "rank 0");
//   merger.add(*second, -1500, "rank 1");   // its times less 1.5 us; may be freed then
//   Trace trace = std::move(merger).finish();
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/status.h"
#include "trace/trace.h"
#include "trace/trace_builder.h"

namespace stepscope {

class TraceMerger {
 public:
  // `shift_ns` is added to all times, beyond what the traces' own bases of time call for. Processes
  // are named "<name>: python". Fails where there would be more slices than a trace can have.
  Status add(const Trace& trace, int64_t shift_ns, std::string_view name);
  uint64_t count() const { return count_; }
  Trace finish() &&;

 private:
  ForeignId find_free(const Trace& trace, const ForeignId& pid, std::string_view name);

  TraceBuilder builder_;
  uint64_t count_ = 0;
  int64_t base_ns_ = 0;     // the clock base of the first
  std::set<int64_t> pids_;  // that are taken
  int64_t next_id_ = 0;     // of correlations
  uint64_t next_flow_ = 0;
  int32_t next_device_ = 0;
};

}  // namespace stepscope
