#include "advise/case.h"

#include <algorithm>

namespace stepscope {

Case::Case(const Trace& examined)
    : trace(examined),
      thread(TrainingThread::of(examined)),
      spans(StepSpans::of(examined)),
      user(examined),
      steady(SteadySteps::find(examined, *spans)) {
  if (has_steps()) {
    times = steady.times;
    for (const PhaseTimes& step : find_phase_times(trace, steady.steps)) {
      for (size_t i = 0; i < kPhases; ++i) phases[i] += step[i];
    }
  } else {
    times.add(trace.begin_ns(), trace.end_ns());
    times.normalize();
  }
  recorded_ns = total_ns = times.total_ns();
  input = InputWork::find(trace, *thread, user, times);
  if (!thread->track()) return;
  cpu = CpuUse::find(trace, trace.tracks()[index(*thread->track())], times);
  work.emplace(trace, *thread, user, *thread->track(), times);
  const int64_t input_recording_ns = work->recording_ns(Part::kInput);
  recording_ns = std::min(recorded_ns / 2, input_recording_ns + work->recording_ns(Part::kRest));
  total_ns -= recording_ns;
  input.take_off(input_recording_ns);
}

}  // namespace stepscope
