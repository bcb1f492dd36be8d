// The input pipelines of a TensorFlow trace: tf.data's iterators as a tree of stages, what each
// costs, how long the program waits for it, and which stage sets the pace. In detail:
//
// - A stage is an iterator by its long name. Instances that a repeat, a flat_map or an interleave
// makes
//   one after the other or side by side are one stage; the inputs of a zip are not.
// - calls, total_ns and self_ns count the calls that were made for a request that was recorded. Own
// time
//   is a call's duration less the time in which its children were at work, also on other threads.
// - wait_ns is the program's waiting: each moment of a request belongs to the innermost call that
// was
//   at work for it.
// - work_ns is what a call of a stage takes of a thread's time: own time where it works on its
// caller's
//   thread; where it works ahead on threads of its own, only what its function took there.
// - Stages that one thread runs through are a section: from an asynchronous stage (Prefetch,
//   MapAndBatch, …) down to the next. A section's time for a batch is the work in it by the threads
//   it has; the slowest section sets the pace, and the stage with most work in it is the
//   bottleneck.
// - A device pipeline only takes over what a host pipeline made: it has Prefetch over Generator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/intervals.h"
#include "trace/trace.h"

namespace stepscope {

inline constexpr uint32_t kNoStage = UINT32_MAX;

struct InputStage {
  std::string name;       // "MapAndBatch"
  std::string long_name;  // "Iterator::Root::Prefetch::MapAndBatch", without numbers of instances
  std::string dataset;    // the file's own name for it: "fused(MapDataset:1,BatchDatasetV2:2)"
  uint32_t parent = kNoStage;
  uint32_t depth = 0;
  uint32_t section = 0;
  bool is_async = false;
  bool is_injected = false;                                     // by tf.data's optimizer
  std::vector<std::pair<std::string, std::string>> parameters;  // buffer_limit=2, of its last call

  uint64_t calls = 0;
  uint64_t blocking_calls = 0;  // for which a request waited
  int64_t total_ns = 0;
  int64_t self_ns = 0;
  int64_t p95_ns = 0;
  int64_t wait_ns = 0;
  uint64_t function_runs = 0;
  int64_t function_ns = 0;
  SliceId longest = kNoSlice;

  double calls_per_batch = 1;
  double work_ns = 0;  // of a call
  double batch_work_ns() const { return work_ns * calls_per_batch; }

  std::string_view kind() const;  // the name without a version: ParallelMap of ParallelMapV2
  std::optional<int64_t> find_number(std::string_view parameter) const;
  bool is_autotuned() const;
};

struct InputSection {
  double batch_ns = 0;  // with all its threads
  double threads = 1;   // at most
  uint32_t owner =
      kNoStage;  // the asynchronous stage whose threads these are; kNoStage: the caller's
  bool is_function = false;  // its function's, not its inputs'
};

struct InputRequests {
  uint64_t count = 0;
  int64_t median_ns = 0;
  int64_t p95_ns = 0;
  int64_t max_ns = 0;
  double typical_ns = 0;  // the mean without the first one and the slowest twentieth
};

struct InputPipeline {
  uint32_t process = 0;
  bool is_device = false;
  std::vector<InputStage> stages;      // the root first, parents before children
  std::vector<InputSection> sections;  // the caller's first
  InputRequests requests;
  std::vector<Interval> waits;  // of the requests, by time
  uint32_t bottleneck = kNoStage;
  std::optional<uint32_t> feeds;  // the device pipeline that takes its batches

  // The stage right below the root, if it is a prefetch.
  const InputStage* find_prefetch() const;
  // Divides the stages into sections and finds the bottleneck; again after a stage was changed.
  void find_sections(int64_t cores);
};

// How long steps wait for their input.
struct StepWaits {
  uint64_t steps = 0;
  double step_ns = 0;  // from begin to begin
  double wait_ns = 0;
  bool is_estimated = false;  // no step scopes: a step is from request to request
  double share() const { return step_ns > 0 ? wait_ns / step_ns : 0; }
};

struct InputPipelines {
  static constexpr int64_t kReadyNs = 50'000;     // a request that takes less was answered at once
  static constexpr double kModerateShare = 0.05;  // of a step
  static constexpr double kHighShare = 0.2;

  std::vector<InputPipeline> pipelines;  // those that steps wait for first, by waiting
  StepWaits waits;                       // for all pipelines that the program asks
  int64_t cores = 0;                     // that tf.data counts with, or threads of its pools
  double element_bytes = 0;              // of what a request gives; 0: not told
  double busy_cores = 0;                 // over the steps: threads at work
  uint64_t orphans = 0;                  // calls of requests that were not recorded

  // Those of a trace, found once. Empty where it has no iterators.
  static std::shared_ptr<const InputPipelines> of(const Trace& trace);

  // The one that the program waits for most, and the one whose stages that wait is spent in: the
  // host pipeline that feeds it, where it is a device's. Null where there is none.
  const InputPipeline* asked() const;
  const InputPipeline* working() const;
  // When the program waits for input.
  IntervalSet find_waiting() const;
  // Waiting is more than chance: most requests wait, or it is much of the time.
  bool is_input_bound() const;
};

}  // namespace stepscope
