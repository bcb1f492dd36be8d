#include "analyze/diff.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/diff_side.h"
#include "analyze/phase_times.h"
#include "analyze/steady_steps.h"
#include "analyze/step_spans.h"
#include "analyze/walk_in_time.h"
#include "trace/function_name.h"
#include "trace/nesting.h"

namespace stepscope {
namespace {

// A function by its file's name and its own: lines move, and folders differ.
std::string name_of(const Trace& trace, const Label& label) {
  const std::string_view text = trace.string(label.name);
  if (label.kind == SliceKind::kOperator || label.kind == SliceKind::kKernel) {
    return std::string(text);
  }
  const FunctionName function = parse_function_name(text);
  if (function.file.empty()) return std::string(text);
  return std::string(function.file.substr(function.file.rfind('/') + 1)) + ": " +
         std::string(function.name);
}

class Reader {
 public:
  Reader(const Trace& trace, bool by_steps) : trace_(trace) {
    const auto spans = StepSpans::of(trace);
    if (by_steps) steady_ = SteadySteps::find(trace, *spans);
    side_.steps = steady_.steps.size();
    for (const Step& step : steady_.steps) {
      times_.push_back(step.span);
      side_.step.add(static_cast<double>(step.span.end_ns - step.span.begin_ns));
    }
    if (times_.empty()) {
      times_.push_back({trace.begin_ns(), trace.end_ns()});
      side_.step.add(static_cast<double>(trace.end_ns() - trace.begin_ns()));
    }
  }

  DiffSide read() {
    read_phases();
    for (const Track& track : trace_.tracks()) {
      if (track.kind == TrackKind::kThread || track.kind == TrackKind::kStream) read_track(track);
    }
    return std::move(side_);
  }

 private:
  void read_phases() {
    if (steady_.empty()) return;
    for (const PhaseTimes& phases : find_phase_times(trace_, steady_.steps)) {
      for (size_t i = 0; i < kPhases; ++i) {
        side_.times[{"phases", std::string(kPhaseNames[i])}].add(static_cast<double>(phases[i]));
      }
    }
  }

  // Own times, step by step.
  void read_track(const Track& track) {
    std::vector<int64_t> in_step(trace_.labels().size());
    std::vector<uint32_t> touched;
    Nesting nesting;
    const auto close = [&](const Nesting::Slice& slice) {
      int64_t& ns = in_step[index(slice.label)];
      if (ns == 0) touched.push_back(index(slice.label));
      ns += slice.self_ns();
    };
    for (const Interval& time : times_) {
      walk_in_time(
          trace_, track, time, nesting, [](uint32_t, bool) {}, close);
      for (const uint32_t label : touched) {
        add(LabelId{label}, in_step[label]);
        in_step[label] = 0;
      }
      touched.clear();
    }
  }

  void add(LabelId id, int64_t ns) {
    const Label& label = trace_.labels()[id];
    const bool is_function = label.kind == SliceKind::kPython || label.kind == SliceKind::kCall;
    const bool is_kernel = label.kind == SliceKind::kKernel;
    if (!is_function && !is_kernel && label.kind != SliceKind::kOperator) return;
    if (ns <= 0) return;
    const char* section = is_function ? "functions" : is_kernel ? "kernels" : "operators";
    side_.times[{section, name_of(trace_, label)}].add(static_cast<double>(ns));
  }

  const Trace& trace_;
  SteadySteps steady_;
  std::vector<Interval> times_;
  DiffSide side_;
};

}  // namespace

Result<Diff> compare(const Trace& before, const Trace& after, const TableOptions& options) {
  const bool has_steps = !SteadySteps::find(before, *StepSpans::of(before)).empty() &&
                         !SteadySteps::find(after, *StepSpans::of(after)).empty();
  const DiffSide first = Reader(before, has_steps).read();
  const DiffSide second = Reader(after, has_steps).read();
  return finish_diff(first, second, has_steps, options);
}

}  // namespace stepscope
