#include "analyze/input_waits.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "analyze/quantile.h"
#include "analyze/step_spans.h"

namespace stepscope {
namespace {

// Steps from begin to begin: a loop may ask for its input before the scope of its step.
std::vector<Interval> find_periods(const Trace& trace, const InputPipelines& input,
                                   bool& is_estimated) {
  std::vector<Interval> periods;
  const InputPipeline& asked = input.pipelines.front();
  std::vector<int64_t> begins;
  int64_t end_ns = 0;
  for (const Step& step : find_step_scopes(trace)) {
    if (step.process != asked.process) continue;
    begins.push_back(step.scope.begin_ns);
    end_ns = step.scope.end_ns;
  }
  is_estimated = begins.size() < 2;
  if (is_estimated) {
    begins.clear();
    for (const Interval& wait : asked.waits) begins.push_back(wait.begin_ns);
    end_ns = begins.empty() ? 0 : begins.back();
  }
  for (size_t i = 0; i < begins.size(); ++i) {
    const int64_t next_ns = i + 1 < begins.size() ? begins[i + 1] : end_ns;
    if (next_ns > begins[i]) periods.push_back({begins[i], next_ns});
  }
  return periods;
}

// Threads of the process that run operators, executors or iterators on average.
double find_busy_cores(const Trace& trace, const std::vector<InputPipeline>& pipelines,
                       const Interval& window) {
  const SliceColumns& slices = trace.slices();
  const uint32_t process = pipelines.front().process;
  std::vector<uint8_t> is_work;
  for (const Label& label : trace.labels().all()) {
    const std::string_view name = trace.string(label.name);
    is_work.push_back(label.kind == SliceKind::kOperator ||
                      name.starts_with("ExecutorState::Process"));
  }
  double busy_ns = 0;
  for (const Track& track : trace.tracks()) {
    if (track.process != process || track.kind != TrackKind::kThread) continue;
    int64_t from_ns = window.begin_ns;
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      if (!is_work[index(slices.label[row])]) continue;
      const int64_t begin_ns = std::max(slices.start_ns[row], from_ns);
      const int64_t end_ns = std::min(slices.end_ns(row), window.end_ns);
      if (end_ns <= begin_ns) continue;
      busy_ns += static_cast<double>(end_ns - begin_ns);
      from_ns = end_ns;
    }
  }
  for (const InputPipeline& pipeline : pipelines) {
    if (pipeline.is_device || pipeline.process != process) continue;
    for (const InputStage& stage : pipeline.stages) {
      if (stage.is_async || stage.function_runs > 0) continue;
      busy_ns += static_cast<double>(stage.self_ns);
    }
  }
  const auto window_ns = static_cast<double>(window.end_ns - window.begin_ns);
  return window_ns > 0 ? busy_ns / window_ns : 0;
}

}  // namespace

InputRequests describe_requests(const std::vector<Interval>& waits) {
  InputRequests requests;
  std::vector<int64_t> durations;
  for (const Interval& wait : waits) durations.push_back(wait.end_ns - wait.begin_ns);
  requests.count = durations.size();
  if (durations.empty()) return requests;
  std::vector<int64_t> typical(durations.begin() + (durations.size() > 2 ? 1 : 0), durations.end());
  requests.median_ns = quantile(durations, 0.5);
  requests.p95_ns = quantile(durations, 0.95);
  requests.max_ns = *std::max_element(durations.begin(), durations.end());
  std::sort(typical.begin(), typical.end());
  if (typical.size() > 4) typical.resize(typical.size() - (typical.size() + 19) / 20);
  requests.typical_ns =
      std::accumulate(typical.begin(), typical.end(), 0.0) / static_cast<double>(typical.size());
  return requests;
}

void find_step_waits(const Trace& trace, InputPipelines& input) {
  if (input.pipelines.empty()) return;
  StepWaits& waits = input.waits;
  const std::vector<Interval> periods = find_periods(trace, input, waits.is_estimated);
  if (periods.empty()) return;
  const IntervalSet waiting = input.find_waiting();
  const IntervalTotals totals(waiting);

  struct OneStep {
    int64_t dur_ns, wait_ns;
  };
  std::vector<OneStep> steps;
  for (const Interval& period : periods) {
    steps.push_back({period.end_ns - period.begin_ns, totals.ns_in(period)});
  }
  // The first one warms up; after a pause (a validation, a checkpoint) a step seems long; and the
  // slowest twentieth is chance.
  if (steps.size() > 2) steps.erase(steps.begin());
  std::vector<int64_t> durations;
  for (const OneStep& step : steps) durations.push_back(step.dur_ns);
  const int64_t median_ns = quantile(durations, 0.5);
  std::erase_if(steps, [&](const OneStep& step) { return step.dur_ns / 4 > median_ns; });
  std::sort(steps.begin(), steps.end(),
            [](const OneStep& a, const OneStep& b) { return a.wait_ns < b.wait_ns; });
  if (steps.size() > 4) steps.resize(steps.size() - (steps.size() + 19) / 20);
  for (const OneStep& step : steps) {
    waits.step_ns += static_cast<double>(step.dur_ns);
    waits.wait_ns += static_cast<double>(step.wait_ns);
  }
  waits.steps = steps.size();
  if (waits.steps > 0) {
    waits.step_ns /= static_cast<double>(waits.steps);
    waits.wait_ns /= static_cast<double>(waits.steps);
  }
  input.busy_cores =
      find_busy_cores(trace, input.pipelines, {periods.front().begin_ns, periods.back().end_ns});
}

}  // namespace stepscope
