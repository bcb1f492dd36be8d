#include "analyze/diff.h"

#include <map>
#include <optional>
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
  Reader(const Trace& trace, bool by_steps) : trace_(trace), in_step_(trace.labels().size()) {
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
    for (const Interval& time : times_) {
      for (const Track& track : trace_.tracks()) {
        const bool is_wanted = track.kind == TrackKind::kThread || track.kind == TrackKind::kStream;
        if (is_wanted) read_track(track, time);
      }
      add_step();
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

  // Own times of one step, to those that other tracks have in it.
  void read_track(const Track& track, const Interval& time) {
    walk_in_time(
        trace_, track, time, nesting_, [](uint32_t, bool) {},
        [&](const Nesting::Slice& slice) {
          int64_t& ns = in_step_[index(slice.label)];
          if (ns == 0) touched_.push_back(index(slice.label));
          ns += slice.self_ns();
        });
  }

  // What a step spent on one name is one sample, on however many threads and streams that was.
  void add_step() {
    std::map<DiffSide::Key, int64_t> sums;
    for (const uint32_t label : touched_) {
      const int64_t ns = std::exchange(in_step_[label], 0);
      if (ns <= 0) continue;
      if (const auto key = key_of(LabelId{label})) sums[*key] += ns;
    }
    touched_.clear();
    for (const auto& [key, ns] : sums) side_.times[key].add(static_cast<double>(ns));
  }

  std::optional<DiffSide::Key> key_of(LabelId id) const {
    const Label& label = trace_.labels()[id];
    const bool is_function = label.kind == SliceKind::kPython || label.kind == SliceKind::kCall;
    const bool is_kernel = label.kind == SliceKind::kKernel;
    if (!is_function && !is_kernel && label.kind != SliceKind::kOperator) return std::nullopt;
    const char* section = is_function ? "functions" : is_kernel ? "kernels" : "operators";
    return DiffSide::Key(section, name_of(trace_, label));
  }

  const Trace& trace_;
  SteadySteps steady_;
  std::vector<Interval> times_;
  std::vector<int64_t> in_step_;   // by label
  std::vector<uint32_t> touched_;  // labels with a time, perhaps more than once
  Nesting nesting_;
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
