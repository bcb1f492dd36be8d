// StepReplay: the steady steps as a chain of causes, which can be run again with other durations.
//
//   host     work │ launch ────────────────┐ work │ launch ─┐  wait ········│ work
//   stream                                 └▶ kernel ───────┴──▶ kernel ────┘
//
// - The host is one chain: what the training thread does and, where that only waits for the
//   autograd engine, what the engine's thread does. Stretches without any slice are work too.
// - Device work begins when it was launched, when the work before it on its stream is done and,
//   where the trace shows that it waited longer for work of another stream, when that is done.
// - A wait (cudaStreamSynchronize, a copy from pageable memory) ends with the device work that it
//   ended with when it was recorded.
// - Whatever part of a gap is not explained by these stays as long as it was. So a replay that
//   changes nothing gives the recorded times to the nanosecond, and the model shows only in what
//   changes.
//
// Left out: that kernels on several streams slow each other; that other ranks would be faster too
// (a collective takes as long as it did). Without a device it is the time of the training thread.
//
//   const auto replay = StepReplay::of(trace);
//   WhatIf what_if(trace);
//   what_if.scale("aten::conv2d", 0.5);
//   replay->saved(what_if);   // share of the step
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "advise/what_if.h"
#include "analyze/step_spans.h"
#include "analyze/training_thread.h"
#include "trace/trace.h"

namespace stepscope {

class StepReplay {
 public:
  // That of a trace's steady steps, or the first of them where they are very many; made once.
  static std::shared_ptr<const StepReplay> of(const Trace& trace);

  // `steps` of one process, by time.
  StepReplay(const Trace& trace, const TrainingThread& thread, std::span<const Step> steps);

  bool empty() const { return steps_ == 0; }  // no steps: nothing below means anything
  uint64_t steps() const { return steps_; }
  bool has_device_work() const { return !work_.empty(); }
  int64_t step_ns() const { return step_ns_; }  // as recorded
  int64_t step_ns(const WhatIf& what_if) const;
  // The share of a step that is saved: 0..1.
  double saved(const WhatIf& what_if) const { return saved(step_ns_, step_ns(what_if)); }
  double saved(int64_t before_ns, int64_t after_ns) const;

  static constexpr uint32_t kNone = UINT32_MAX;
  struct DeviceWork {
    SliceId slice = kNoSlice;
    SliceId call = kNoSlice;  // that launched it; kNoSlice: not seen
    int64_t start_ns = 0;
    int64_t dur_ns = 0;
    int64_t launch_ns = 0;       // the begin of the call
    int64_t latency_ns = 0;      // from that to the begin on an idle stream
    int64_t unexplained_ns = 0;  // of waiting: below 0 where streams let work overlap
    uint32_t before = kNone;     // on its stream, into device_work()
    uint32_t other = kNone;      // on another stream
    bool is_fixed = false;       // launched before these steps: it takes place as it did
    int64_t end_ns() const { return start_ns + dur_ns; }
  };
  // In order of their begin.
  std::span<const DeviceWork> device_work() const { return work_; }

 private:
  struct Segment {  // of the host's chain; they follow each other without gaps
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    SliceId slice = kNoSlice;  // the innermost; kNoSlice: nothing was recorded
    uint32_t awaited = kNone;  // is_wait: what it ended with, into work_
    bool is_wait = false;
  };
  struct Rows {  // of a track, that segments may refer to
    uint32_t first = 0;
    uint32_t last = 0;
  };
  struct Times;
  class Builder;
  class Run;

  uint64_t steps_ = 0;
  int64_t step_ns_ = 0;
  int64_t begin_ns_ = 0;
  int64_t counts_from_ns_ = 0;  // until then the device was busy with earlier steps
  std::vector<Segment> segments_;
  std::vector<Rows> rows_;
  std::vector<DeviceWork> work_;
  std::vector<uint32_t> launches_;  // into work_, in order of their launch
};

}  // namespace stepscope
