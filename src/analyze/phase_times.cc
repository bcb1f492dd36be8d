#include "analyze/phase_times.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "analyze/device_phases.h"
#include "analyze/input_pipelines.h"
#include "analyze/thread_work.h"
#include "analyze/training_thread.h"

namespace stepscope {
namespace {

constexpr int64_t kLargestGapNs = 1'000'000;

bool begins_before(const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; }

// The part of a sorted list that begins in the range.
std::span<const Interval> begin_in(const std::vector<Interval>& list, const Interval& range) {
  const auto first =
      std::lower_bound(list.begin(), list.end(), Interval{range.begin_ns, 0}, begins_before);
  const auto last = std::lower_bound(first, list.end(), Interval{range.end_ns, 0}, begins_before);
  return {first, last};
}

// The backward passes: calls, and nodes outside of calls from the first to the last of a pass. A
// pass is over when the thread does something else.
IntervalSet find_backward(const ThreadWork& work, const std::vector<Step>& steps) {
  std::vector<int64_t> others_ns;
  for (const Interval& op : work.loose_operators) others_ns.push_back(op.begin_ns);
  for (const IntervalSet* set : {&work.input, &work.forward, &work.zero_grad, &work.optimizer}) {
    for (const Interval& interval : set->intervals()) others_ns.push_back(interval.begin_ns);
  }
  for (const Step& step : steps) others_ns.push_back(step.scope.begin_ns);
  std::sort(others_ns.begin(), others_ns.end());

  IntervalSet backward = work.backward_calls;
  auto other = others_ns.begin();
  std::optional<Interval> pass;
  for (const Interval& node : work.backward_nodes) {
    while (pass && other != others_ns.end() && *other < pass->end_ns) ++other;
    if (pass && (other == others_ns.end() || *other > node.begin_ns)) {
      pass->end_ns = std::max(pass->end_ns, node.end_ns);
      continue;
    }
    if (pass) backward.add(pass->begin_ns, pass->end_ns);
    pass = node;
  }
  if (pass) backward.add(pass->begin_ns, pass->end_ns);
  backward.normalize();
  return backward;
}

struct ForwardTimes {
  IntervalSet passes;
  IntervalSet gaps;                  // between pieces of a pass
  IntervalSet gaps_before_backward;  // from the end of a pass to its backward pass
};

// The forward passes of steps: module calls, and the loose operators that lead to a backward pass.
class ForwardFinder {
 public:
  ForwardFinder(const ThreadWork& work, const IntervalSet& backward)
      : work_(work), backward_(backward) {}

  ForwardTimes find(const std::vector<Step>& steps) {
    times_.passes = work_.forward;
    for (const Step& step : steps) add_step(step.scope);
    for (IntervalSet* set : {&times_.passes, &times_.gaps, &times_.gaps_before_backward}) {
      set->normalize();
    }
    return std::move(times_);
  }

 private:
  // Steps come by their begin. What two have in common is looked at once.
  void add_step(Interval step) {
    step.begin_ns = std::max(step.begin_ns, seen_until_ns_);
    if (step.end_ns <= step.begin_ns) return;
    seen_until_ns_ = step.end_ns;
    const std::span<const Interval> passes = begin_in(backward_.intervals(), step);
    if (passes.empty()) {
      const auto optimizers = begin_in(work_.optimizer.intervals(), step);
      const int64_t end_ns = optimizers.empty() ? step.end_ns : optimizers.back().begin_ns;
      add_stretch({step.begin_ns, end_ns}, false);
      return;
    }
    int64_t begin_ns = step.begin_ns;
    for (const Interval& pass : passes) {
      add_stretch({begin_ns, pass.begin_ns}, true);
      begin_ns = pass.end_ns;
    }
  }

  // What leads to one backward pass.
  void add_stretch(const Interval& stretch, bool has_backward) {
    const auto modules = begin_in(work_.forward.intervals(), stretch);
    std::vector<Interval> pieces(modules.begin(), modules.end());
    for (const Interval& op : begin_in(work_.loose_operators, stretch)) {
      if (!modules.empty() && op.begin_ns < modules.front().begin_ns) continue;
      pieces.push_back(op);
      times_.passes.add(op.begin_ns, op.end_ns);
    }
    std::sort(pieces.begin(), pieces.end(), begins_before);
    for (size_t i = 1; i < pieces.size(); ++i) {
      add_gap({pieces[i - 1].end_ns, pieces[i].begin_ns}, times_.gaps);
    }
    if (has_backward && !pieces.empty()) {
      add_gap({pieces.back().end_ns, stretch.end_ns}, times_.gaps_before_backward);
    }
  }

  static void add_gap(const Interval& gap, IntervalSet& gaps) {
    if (gap.end_ns - gap.begin_ns <= kLargestGapNs) gaps.add(gap.begin_ns, gap.end_ns);
  }

  const ThreadWork& work_;
  const IntervalSet& backward_;
  ForwardTimes times_;
  int64_t seen_until_ns_ = INT64_MIN;
};

using Layer = std::pair<Phase, IntervalSet>;

// Collectives of other threads, while no operator of the training runs.
IntervalSet find_exposed_communication(const ThreadWork& work) {
  IntervalSet exposed = work.other_communication;
  exposed.subtract(work.operators);
  IntervalSet nodes;
  for (const Interval& node : work.backward_nodes) nodes.add(node.begin_ns, node.end_ns);
  nodes.normalize();
  exposed.subtract(nodes);
  return exposed;
}

// In order of precedence.
std::vector<Layer> find_layers(const Trace& trace, const std::vector<Step>& steps) {
  const std::shared_ptr<const TrainingThread> thread = TrainingThread::of(trace);
  std::vector<Layer> layers;
  if (!thread->track()) return layers;
  ThreadWork work = ThreadWork::find(trace, *thread, *thread->track());
  const IntervalSet backward = find_backward(work, steps);
  ForwardTimes forward = ForwardFinder(work, backward).find(steps);

  layers.emplace_back(Phase::kInput, work.input);
  layers.emplace_back(Phase::kInput, InputPipelines::of(trace)->find_waiting());
  layers.emplace_back(Phase::kCommunication, work.communication);
  layers.emplace_back(Phase::kCommunication, find_exposed_communication(work));
  layers.emplace_back(Phase::kOptimizer, work.optimizer_backward);
  layers.emplace_back(Phase::kBackward, backward);
  layers.emplace_back(Phase::kForward, std::move(forward.passes));
  layers.emplace_back(Phase::kOptimizer, work.zero_grad);
  // In a closure the optimizer is around everything.
  for (const auto& [phase, gaps] : {std::pair(Phase::kForward, &forward.gaps),
                                    std::pair(Phase::kBackward, &forward.gaps_before_backward)}) {
    IntervalSet gaps_of_closures = *gaps;
    gaps_of_closures.intersect(work.optimizer);
    layers.emplace_back(phase, std::move(gaps_of_closures));
  }
  layers.emplace_back(Phase::kOptimizer, work.optimizer);
  layers.emplace_back(Phase::kCopy, work.copies);

  const DevicePhases device = find_device_phases(
      trace, trace.tracks()[index(*thread->track())].process, [&](int64_t time_ns) {
        for (const Layer& layer : layers) {
          if (layer.second.contains(time_ns)) return layer.first;
        }
        return Phase::kHost;
      });
  for (const auto& [phase, times] : device) {
    IntervalSet waited_for = times;
    waited_for.intersect(work.waits);
    layers.emplace_back(phase, std::move(waited_for));
  }
  work.any.subtract(work.waiting);
  layers.emplace_back(Phase::kHost, std::move(work.any));
  layers.emplace_back(Phase::kForward, std::move(forward.gaps));
  layers.emplace_back(Phase::kBackward, std::move(forward.gaps_before_backward));
  for (const auto& [phase, times] : device) layers.emplace_back(phase, times);
  layers.emplace_back(Phase::kHost, std::move(work.other_operators));
  layers.emplace_back(Phase::kCommunication, std::move(work.async_communication));
  return layers;
}

}  // namespace

std::vector<PhaseTimes> find_phase_times(const Trace& trace, const std::vector<Step>& steps) {
  std::vector<PhaseTimes> times(steps.size());
  std::vector<int64_t> counted_ns(steps.size());
  IntervalSet covered;
  for (const auto& [phase, layer] : find_layers(trace, steps)) {
    covered.unite(layer);
    const IntervalTotals totals(covered);
    for (size_t i = 0; i < times.size(); ++i) {
      const int64_t covered_ns = totals.ns_in(steps[i].scope);
      times[i][static_cast<size_t>(phase)] += covered_ns - counted_ns[i];
      counted_ns[i] = covered_ns;
    }
  }
  for (size_t i = 0; i < times.size(); ++i) {
    const Interval& scope = steps[i].scope;
    times[i][static_cast<size_t>(Phase::kIdle)] = scope.end_ns - scope.begin_ns - counted_ns[i];
  }
  return times;
}

}  // namespace stepscope
