#include "analyze/steady_steps.h"

#include <algorithm>

#include "analyze/quantile.h"

namespace stepscope {
namespace {

constexpr double kSlow = 1.25;  // times the median: still warming up

int64_t dur_ns(const Step& step) { return step.span.end_ns - step.span.begin_ns; }

int64_t median_ns(const std::vector<Step>& steps) {
  std::vector<int64_t> durations;
  for (const Step& step : steps) durations.push_back(dur_ns(step));
  return quantile(durations, 0.5);
}

// The first one of a program always is, where there are enough; then those that are slow, up to a
// third of all. A recording that begins with ProfilerStep#5 has the program's first ones behind it.
size_t count_warm_up(const StepSpans& spans) {
  const std::vector<Step>& steps = spans.steps;
  if (steps.size() < 4) return 0;
  const double limit = kSlow * static_cast<double>(median_ns(steps));
  const bool begins_late = spans.origin == StepOrigin::kScopes && steps.front().number > 1;
  size_t count = begins_late ? 0 : 1;
  while (count < steps.size() / 3 && static_cast<double>(dur_ns(steps[count])) > limit) ++count;
  return count;
}

}  // namespace

SteadySteps SteadySteps::find(const Trace& trace, const StepSpans& spans) {
  SteadySteps found;
  if (spans.steps.empty() || spans.origin == StepOrigin::kWhole) return found;
  found.start_up_ns = spans.steps.front().span.begin_ns - trace.begin_ns();
  found.warm_up_steps = count_warm_up(spans);
  const auto first = spans.steps.begin() + static_cast<ptrdiff_t>(found.warm_up_steps);
  found.steps.assign(first, spans.steps.end());
  int64_t total_ns = 0;
  for (const Step& step : found.steps) {
    found.times.add(step.span.begin_ns, step.span.end_ns);
    total_ns += dur_ns(step);
  }
  found.times.normalize();
  found.mean_ns = total_ns / static_cast<int64_t>(found.steps.size());
  for (auto step = spans.steps.begin(); step != first; ++step) {
    found.warm_up_ns += std::max<int64_t>(0, dur_ns(*step) - found.mean_ns);
  }
  return found;
}

}  // namespace stepscope
