// The view `phases`: what the training thread spent each step on. Every moment of a step counts
// once, and the phases add up to dur_ns, which is the length of the step's scope. The rules:
// phase_times.h.
#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <vector>

#include "analyze/calls_of_samples.h"
#include "analyze/phase_times.h"
#include "analyze/sampled_threads.h"
#include "analyze/slice_filter.h"
#include "analyze/step_spans.h"
#include "analyze/training_thread.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

constexpr std::array<const char*, kPhases> kColumnNames = {
    "input_ns",         "forward_ns", "backward_ns", "optimizer_ns",
    "communication_ns", "copy_ns",    "host_ns",     "idle_ns",
};

// A program that is recorded now and then has a training thread for each stretch.
std::vector<Step> find_steps_of_training_thread(const Trace& trace, const StepSpans& spans) {
  const std::shared_ptr<const TrainingThread> thread = TrainingThread::of(trace);
  if (spans.origin != StepOrigin::kScopes || !thread->track()) return spans.steps;
  const uint32_t process = trace.tracks()[index(*thread->track())].process;
  std::vector<Step> steps;
  std::copy_if(spans.steps.begin(), spans.steps.end(), std::back_inserter(steps),
               [&](const Step& step) { return step.process == process; });
  return steps.empty() ? spans.steps : steps;
}

}  // namespace

Result<Table> phases(const Trace& examined, const TableOptions& options) {
  const Trace& trace = trace_with_calls(examined);
  const Result<SliceFilter> filter = SliceFilter::make(examined, options);
  if (!filter) return filter.status();
  const std::shared_ptr<const StepSpans> spans = StepSpans::of(trace);
  const std::vector<Step> steps = find_steps_of_training_thread(trace, *spans);
  const std::vector<PhaseTimes> times = find_phase_times(trace, steps);

  Table table("phases");
  Column& step_number = table.add("step", ColumnType::kInt);
  Column& start = table.add("start_ns", ColumnType::kInt, Unit::kNs);
  Column& dur = table.add("dur_ns", ColumnType::kInt, Unit::kNs);
  std::array<Column*, kPhases> columns{};
  for (size_t phase = 0; phase < kPhases; ++phase) {
    columns[phase] = &table.add(kColumnNames[phase], ColumnType::kInt, Unit::kNs);
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (!filter->takes_time(step.scope.begin_ns)) continue;
    step_number.push(step.number);
    start.push(step.scope.begin_ns - examined.begin_ns());
    dur.push(step.scope.end_ns - step.scope.begin_ns);
    for (size_t phase = 0; phase < kPhases; ++phase) columns[phase]->push(times[i][phase]);
  }
  table.notes = spans->notes();
  if (steps.size() < spans->steps.size()) {
    table.notes.push_back("steps of other stretches are left out: phases are those of one thread");
  }
  if (is_made_of_samples(trace)) table.notes.push_back(phases_of_samples_note(examined));
  return table;
}

}  // namespace stepscope
