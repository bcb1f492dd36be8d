#include "analyze/step_spans.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "analyze/found_steps.h"
#include "analyze/input_pipelines.h"
#include "analyze/launches.h"
#include "analyze/training_thread.h"
#include "trace/slice_stream.h"

namespace stepscope {
namespace {

struct DeviceTime {
  int64_t begin_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;
  bool empty() const { return begin_ns == INT64_MAX; }
};

std::optional<int64_t> parse_trailing_number(std::string_view name) {
  size_t begin = name.size();
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + begin, name.data() + name.size(), number);
  if (error != std::errc() || begin == name.size()) return std::nullopt;
  return number;
}

void add_found_steps(const Trace& trace, StepSpans& spans) {
  const std::shared_ptr<const TrainingThread> thread = TrainingThread::of(trace);
  for (const Interval& scope : find_steps(trace, *thread)) {
    Step step;
    step.number = static_cast<int64_t>(spans.steps.size());
    step.scope = scope;
    spans.steps.push_back(step);
  }
  spans.origin = StepOrigin::kOptimizers;
  spans.other_ranks = thread->other_ranks();
}

// A loop asks for a batch in each step.
void add_steps_of_requests(const Trace& trace, StepSpans& spans) {
  const std::shared_ptr<const InputPipelines> input = InputPipelines::of(trace);
  if (input->asked() == nullptr) return;
  const std::vector<Interval>& requests = input->asked()->waits;
  for (size_t i = 0; i + 1 < requests.size(); ++i) {
    Step step;
    step.number = static_cast<int64_t>(i);
    step.scope = {requests[i].begin_ns, requests[i + 1].begin_ns};
    step.process = input->asked()->process;
    spans.steps.push_back(step);
  }
  spans.origin = StepOrigin::kRequests;
}

std::optional<Step> estimate_step(const Trace& trace) {
  const SliceColumns& slices = trace.slices();
  const std::vector<Label>& labels = trace.labels().all();
  Interval scope{INT64_MAX, INT64_MIN};
  for (uint32_t row = 0; row < slices.size(); ++row) {
    if (labels[index(slices.label[row])].kind != SliceKind::kOperator) continue;
    scope.begin_ns = std::min(scope.begin_ns, slices.start_ns[row]);
    scope.end_ns = std::max(scope.end_ns, slices.end_ns(row));
  }
  if (scope.begin_ns > scope.end_ns) return std::nullopt;
  Step step;
  step.scope = scope;
  return step;
}

// What the calls in each step did on the device. A call is in the first step that ends after it
// begins, if that holds all of it.
std::vector<DeviceTime> match_calls(const Trace& trace, const Launches& launches,
                                    std::vector<Step>& steps, std::vector<uint8_t>& is_in_step) {
  std::vector<DeviceTime> device(steps.size());
  if (launches.empty()) return device;
  TraceSliceStream stream(trace);
  SliceBlock block;
  while (*stream.next(block)) {
    ArgCursor correlations(block, trace.strings(), "correlation", ArgType::kInt);
    LaunchCursor by_correlation(launches, LaunchKey::kCorrelation);
    size_t step = 0;
    for (size_t i = 0; i < block.size(); ++i) {
      if (trace.labels()[block.label[i]].kind != SliceKind::kRuntime) continue;
      const int64_t start_ns = block.start_ns[i];
      while (step < steps.size() && start_ns >= steps[step].scope.end_ns) ++step;
      if (step == steps.size()) break;
      const Interval& scope = steps[step].scope;
      if (start_ns < scope.begin_ns || start_ns + block.dur_ns(i) > scope.end_ns) continue;
      const auto id = correlations.find_int(block.row(i));
      const Launch* launch = id ? by_correlation.find(*id) : nullptr;
      if (launch == nullptr) continue;
      device[step].begin_ns = std::min(device[step].begin_ns, launch->first_start_ns);
      device[step].end_ns = std::max(device[step].end_ns, launch->last_end_ns);
      steps[step].device_slices += launch->device_slices;
      is_in_step[launches.index_of(*launch)] = 1;
    }
  }
  return device;
}

size_t count_complete_steps(const std::vector<Step>& steps) {
  size_t count = steps.size();
  while (count > 0 && steps[count - 1].device_slices == 0) --count;
  if (count == 0) return steps.size();
  if (count > 1 && static_cast<double>(steps[count - 2].device_slices) * 0.8 >
                       static_cast<double>(steps[count - 1].device_slices)) {
    --count;
  }
  return count;
}

// Marks say where a step ends. The first one seems to begin with the recording, at the import of
// torch: where optimizers tell when training began, it begins there.
void begin_with_training(const Trace& trace, Step& first) {
  if (trace.format() != kRecordingFormat || first.scope.begin_ns > trace.begin_ns()) return;
  const std::vector<Interval> found = find_steps(trace, *TrainingThread::of(trace));
  if (!found.empty() && found.front().begin_ns < first.scope.end_ns) {
    first.scope.begin_ns = found.front().begin_ns;
  }
}

// A step of the program's own, and the thread that it is on.
struct ScopedStep {
  Step step;
  TrackId track;
};

// The program's own scopes; where it has none, the steps that a TPU's profiler found by itself.
std::vector<uint8_t> find_step_labels(const Trace& trace) {
  const std::vector<Label>& labels = trace.labels().all();
  const bool has_scopes = std::any_of(labels.begin(), labels.end(), [](const Label& label) {
    return label.kind == SliceKind::kStep;
  });
  std::vector<uint8_t> is_step;
  is_step.reserve(labels.size());
  for (const Label& label : labels) {
    is_step.push_back(has_scopes ? label.kind == SliceKind::kStep
                                 : label.kind == SliceKind::kDeviceAnnotation &&
                                       trace.string(label.category) == "Steps");
  }
  return is_step;
}

std::vector<ScopedStep> find_scoped_steps(const Trace& trace) {
  const std::vector<Label>& labels = trace.labels().all();
  const std::vector<uint8_t> is_step = find_step_labels(trace);
  std::vector<ScopedStep> steps;
  if (std::none_of(is_step.begin(), is_step.end(), [](uint8_t is) { return is != 0; })) {
    return steps;
  }
  const SliceColumns& slices = trace.slices();
  for (uint32_t row = 0; row < slices.size(); ++row) {
    if (is_step[index(slices.label[row])] == 0) continue;
    const Label& label = labels[index(slices.label[row])];
    ScopedStep found{.step = {}, .track = trace.find_track_of(SliceId{row})};
    found.step.number = parse_trailing_number(trace.string(label.name)).value_or(-1);
    found.step.scope = {slices.start_ns[row], slices.end_ns(row)};
    found.step.process = trace.tracks()[index(found.track)].process;
    steps.push_back(found);
  }
  std::stable_sort(steps.begin(), steps.end(), [](const ScopedStep& a, const ScopedStep& b) {
    return a.step.scope.begin_ns < b.step.scope.begin_ns;
  });
  return steps;
}

std::vector<Step> number_steps(const std::vector<ScopedStep>& found) {
  std::vector<Step> steps;
  for (const ScopedStep& scoped : found) {
    steps.push_back(scoped.step);
    if (scoped.step.number < 0) steps.back().number = static_cast<int64_t>(steps.size()) - 1;
  }
  return steps;
}

// The value that most steps have; `preferred` where any step has that.
template <typename T, typename ValueOf>
T find_most_common(const std::vector<ScopedStep>& steps, std::optional<T> preferred,
                   ValueOf&& value_of) {
  std::map<T, size_t> counts;
  for (const ScopedStep& step : steps) ++counts[value_of(step)];
  if (preferred && counts.contains(*preferred)) return *preferred;
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// The process, and those whose steps are before or after its own: a program that is recorded now
// and then has a process for each stretch.
std::set<uint32_t> find_processes_in_turn(const std::vector<ScopedStep>& steps, uint32_t process) {
  std::map<uint32_t, Interval> spans;
  for (const ScopedStep& of : steps) {
    Interval& span = spans.try_emplace(of.step.process, of.step.scope).first->second;
    span.end_ns = std::max(span.end_ns, of.step.scope.end_ns);
  }
  std::set<uint32_t> kept = {process};
  for (const auto& [other, span] : spans) {
    const bool is_in_turn = std::none_of(kept.begin(), kept.end(), [&](uint32_t one) {
      return span.begin_ns < spans[one].end_ns && spans[one].begin_ns < span.end_ns;
    });
    if (is_in_turn) kept.insert(other);
  }
  return kept;
}

// Steps of several ranks or threads run at the same time, and would count twice.
void keep_steps_of_one_thread(const Trace& trace, std::vector<ScopedStep>& steps,
                              StepSpans& spans) {
  const auto is_of_first = [&](const ScopedStep& step) { return step.track == steps[0].track; };
  if (std::all_of(steps.begin(), steps.end(), is_of_first)) return;
  const std::optional<TrackId> training = TrainingThread::of(trace)->track();
  std::optional<uint32_t> training_process;
  if (training) training_process = trace.tracks()[index(*training)].process;
  const uint32_t process = find_most_common<uint32_t>(
      steps, training_process, [](const ScopedStep& of) { return of.step.process; });
  const std::set<uint32_t> kept = find_processes_in_turn(steps, process);
  std::set<uint32_t> other_processes;
  std::erase_if(steps, [&](const ScopedStep& of) {
    if (!kept.contains(of.step.process)) other_processes.insert(of.step.process);
    return !kept.contains(of.step.process);
  });
  spans.other_ranks = other_processes.size();

  const TrackId track =
      find_most_common<TrackId>(steps, training, [](const ScopedStep& of) { return of.track; });
  IntervalSet taken;
  for (const ScopedStep& of : steps) {
    if (of.track == track) taken.add(of.step.scope.begin_ns, of.step.scope.end_ns);
  }
  taken.normalize();
  const IntervalTotals taken_ns(taken);
  std::set<TrackId> other_tracks;
  std::erase_if(steps, [&](const ScopedStep& of) {
    const Interval& scope = of.step.scope;
    const bool is_beside = 2 * taken_ns.ns_in(scope) < scope.end_ns - scope.begin_ns;
    if (of.track == track || is_beside) return false;
    other_tracks.insert(of.track);
    return true;
  });
  spans.other_threads = other_tracks.size();
}

StepSpans find_spans(const Trace& trace, const Launches& launches) {
  StepSpans result;
  std::vector<Step>& steps = result.steps;
  std::vector<ScopedStep> scoped = find_scoped_steps(trace);
  keep_steps_of_one_thread(trace, scoped, result);
  steps = number_steps(scoped);
  if (!steps.empty()) begin_with_training(trace, steps.front());
  if (steps.empty()) add_found_steps(trace, result);
  if (steps.empty()) add_steps_of_requests(trace, result);
  if (steps.empty()) {
    const auto step = estimate_step(trace);
    if (!step) return result;
    steps.push_back(*step);
    result.origin = StepOrigin::kWhole;
  }
  for (Step& step : steps) step.span = step.scope;

  std::vector<uint8_t> is_in_step(launches.all().size());
  const std::vector<DeviceTime> device = match_calls(trace, launches, steps, is_in_step);
  if (std::all_of(device.begin(), device.end(), [](const DeviceTime& d) { return d.empty(); })) {
    return result;
  }
  int64_t previous_end_ns = steps.front().scope.begin_ns;
  if (!device.front().empty()) {
    for (const Launch& launch : launches.all()) {
      if (is_in_step[launches.index_of(launch)] != 0) continue;
      if (launch.last_end_ns >= device.front().begin_ns) continue;
      previous_end_ns = std::max(previous_end_ns, launch.last_end_ns);
    }
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    Interval& span = steps[i].span;
    span.begin_ns = std::max(span.begin_ns, previous_end_ns);
    if (!device[i].empty()) span.end_ns = std::max(span.end_ns, device[i].end_ns);
    span.end_ns = std::max(span.end_ns, span.begin_ns);
    previous_end_ns = span.end_ns;
  }
  if (steps.size() > 1) {
    const size_t complete = count_complete_steps(steps);
    result.left_out = steps.size() - complete;
    steps.resize(complete);
  }
  return result;
}

}  // namespace

std::vector<Step> find_step_scopes(const Trace& trace) {
  return number_steps(find_scoped_steps(trace));
}

std::shared_ptr<const StepSpans> StepSpans::of(const Trace& trace) {
  return trace.derived().get<StepSpans>("step spans",
                                        [&] { return find_spans(trace, *Launches::of(trace)); });
}

Interval StepSpans::window() const {
  if (steps.empty()) return {};
  return {steps.front().span.begin_ns, steps.back().span.end_ns};
}

std::vector<std::string> StepSpans::notes() const {
  std::vector<std::string> notes;
  if (steps.empty()) return notes;
  if (origin == StepOrigin::kOptimizers) {
    notes.push_back(
        "no step scopes in this trace; its steps were found from the calls of Optimizer.step");
    if (other_ranks > 0) {
      notes.push_back("the steps are those of one process; optimizers ran in " +
                      std::to_string(other_ranks) + " more");
    }
  } else if (origin == StepOrigin::kScopes) {
    if (other_ranks > 0) {
      notes.push_back("the steps are those of one process; " + std::to_string(other_ranks) +
                      " more had steps of their own");
    }
    if (other_threads > 0) {
      notes.push_back("the steps are those of one thread; " + std::to_string(other_threads) +
                      " more had steps at the same time");
    }
  } else if (origin == StepOrigin::kRequests) {
    notes.push_back(
        "no step scopes in this trace; a step is taken from one request for input to the next");
  } else if (origin == StepOrigin::kWhole) {
    notes.push_back("no step scopes in this trace; all of its operators are taken as one step");
  }
  if (left_out > 0) {
    notes.push_back(std::to_string(left_out) +
                    " steps at the end are left out: their device work was not all recorded");
  }
  return notes;
}

}  // namespace stepscope
