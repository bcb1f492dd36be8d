// RankSummary: what the comparison of a job's ranks needs of one rank's trace, in some kilobytes.
// A trace is reduced to it and freed, on this machine or on a worker of a cluster; a Job (job.h) is
// made of summaries alone. It travels as bytes, which may come from anywhere: decode_summary()
// checks them.
//
//   Result<Trace> trace = load(path);
//   RankSummary summary = summarize_rank(*trace, {.source = path});
//   std::vector<uint8_t> bytes = encode_summary(summary);
//
// Times are ns since 1970 by the rank's own clock where its trace tells it, else of the trace's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/collective.h"
#include "analyze/intervals.h"
#include "analyze/phase_times.h"
#include "base/status.h"
#include "trace/trace.h"

namespace stepscope {

// A communicator: ranks that communicate with each other.
struct ProcessGroup {
  std::string name;
  std::string description;     // "default_pg", "mesh_tp"; may be empty
  std::vector<int32_t> ranks;  // empty: not told
  int64_t size = 0;            // 0: not told
  friend bool operator==(const ProcessGroup&, const ProcessGroup&) = default;
};

// What calls have in common: one per distinct collective.
struct CollectiveShape {
  CollectiveType type = CollectiveType::kOther;
  uint32_t group = 0;  // into RankSummary::groups
  int64_t bytes = -1;  // of the whole message; -1: not told
  std::string dtype;   // as the trace has it
  friend bool operator==(const CollectiveShape&, const CollectiveShape&) = default;
};

struct CollectiveCall {
  uint32_t shape = 0;     // into RankSummary::shapes
  int32_t step = -1;      // into RankSummary::steps; -1: in none
  int64_t sequence = -1;  // of its group; -1: not told, the order has to do
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  // The first moment of it at which nothing is computed, and how long that is so in all.
  int64_t exposed_from_ns = 0;
  int64_t exposed_ns = 0;
  friend bool operator==(const CollectiveCall&, const CollectiveCall&) = default;
};

// A step. Unions of times: step = compute + communication - overlap + copy + idle.
struct RankStep {
  int64_t number = 0;
  Interval span;
  int64_t compute_ns = 0;
  int64_t communication_ns = 0;
  int64_t overlap_ns = 0;  // of communication with computation
  int64_t copy_ns = 0;     // copies, while neither goes on
  int64_t idle_ns = 0;
  PhaseTimes phases{};
  bool is_steady = true;  // not one of the first, slow ones
  friend bool operator==(const RankStep&, const RankStep&) = default;
};

// Kernels, operators, functions of the steady steps, by name.
struct RankWork {
  std::string name;
  uint64_t calls = 0;
  int64_t total_ns = 0;  // own time
  friend bool operator==(const RankWork&, const RankWork&) = default;
};

enum class RankOrigin : uint8_t { kUnknown = 0, kTrace, kFileName, kOption, kPosition };

struct RankSummary {
  std::string source;  // the trace's path
  int64_t rank = -1;
  int64_t world_size = 0;  // 0: not told
  RankOrigin rank_origin = RankOrigin::kUnknown;
  bool has_device = false;   // figures are of a device; else of the host
  bool has_steps = false;    // else the one step is the whole trace
  bool is_training = false;  // it has steps or collectives: not a worker of a DataLoader
  bool is_truncated = false;
  double clock_mhz = 0;  // of the device, where a counter told it: the mean
  std::vector<RankStep> steps;
  std::vector<ProcessGroup> groups;
  std::vector<CollectiveShape> shapes;
  std::vector<CollectiveCall> calls;  // by start
  uint64_t calls_left_out = 0;        // beyond SummaryOptions::max_calls
  std::vector<RankWork> kernels;      // those that cost most; then one named "" for the others
  std::vector<RankWork> operators;
  std::vector<RankWork> functions;
  std::vector<std::string> notes;  // what had to be mended, skipped or cut

  uint64_t steady_steps() const;
  friend bool operator==(const RankSummary&, const RankSummary&) = default;
};

struct SummaryOptions {
  std::string source;
  int64_t rank = -1;  // -1: as the trace or the name of the file tells
  int64_t world_size = 0;
  size_t max_work = 64;  // kernels, operators, functions
  size_t max_calls = 20'000;
};

RankSummary summarize_rank(const Trace& trace, const SummaryOptions& options);

// 7 of "rank-7.json", "job_rank_7.pt.trace.json.gz", "trace.rank7.json"; -1 where there is none.
int64_t find_rank_in_name(std::string_view path);

std::vector<uint8_t> encode_summary(const RankSummary& summary);
// Fails with "<why>" where the bytes are not those of a summary.
Result<RankSummary> decode_summary(std::span<const uint8_t> bytes);

}  // namespace stepscope
