#include "analyze/found_steps.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_set>

namespace stepscope {
namespace {

// Where O's are this many times as many as fetches, the DataLoader is not what feeds them.
constexpr uint64_t kMostOptimizersPerFetch = 8;

enum class EventKind : uint8_t { kFetch, kBackward, kOptimizer };

struct Event {
  EventKind kind;
  Interval time;
  StringId name;
};

class LoopReader {
 public:
  LoopReader(const Trace& trace, const TrainingThread& thread, const Track& track)
      : trace_(trace), thread_(thread), track_(track) {}

  std::vector<Event> read() {
    read_thread();
    std::vector<Event>& backward = calls_.empty() ? nodes_ : calls_;
    if (backward.empty()) read_nodes_of_other_threads(backward);
    events_.insert(events_.end(), backward.begin(), backward.end());
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return a.time.begin_ns < b.time.begin_ns;
    });
    return std::move(events_);
  }

 private:
  void read_thread() {
    const SliceColumns& slices = trace_.slices();
    int64_t covered_until_ns = INT64_MIN;  // what is in an event is no event
    bool has_work = false;                 // since the last fetch
    for (uint32_t row = track_.first_slice; row < track_.first_slice + track_.slice_count; ++row) {
      const Interval time{slices.start_ns[row], slices.end_ns(row)};
      if (time.begin_ns < covered_until_ns) continue;
      const TrainingRole role = thread_.role(slices.label[row]);
      const StringId name = trace_.labels()[slices.label[row]].name;
      switch (role) {
        case TrainingRole::kNone:
        case TrainingRole::kHost:
        case TrainingRole::kWaiting:
          continue;
        case TrainingRole::kInput:
          if (!events_.empty() && events_.back().kind == EventKind::kFetch && !has_work) {
            events_.back().time.end_ns = time.end_ns;
          } else {
            events_.push_back({EventKind::kFetch, time, name});
          }
          has_work = false;
          covered_until_ns = time.end_ns;
          continue;
        case TrainingRole::kOptimizerStep:
          events_.push_back({EventKind::kOptimizer, time, name});
          covered_until_ns = time.end_ns;
          break;
        case TrainingRole::kBackwardCall:
          calls_.push_back({EventKind::kBackward, time, name});
          covered_until_ns = time.end_ns;
          break;
        case TrainingRole::kBackwardNode:
          nodes_.push_back({EventKind::kBackward, time, name});
          covered_until_ns = time.end_ns;
          break;
        default:
          break;
      }
      has_work = true;
    }
  }

  // Where a device computes, backward nodes run on a thread of the engine.
  void read_nodes_of_other_threads(std::vector<Event>& nodes) {
    if (!thread_.has(TrainingRole::kBackwardNode)) return;
    const SliceColumns& slices = trace_.slices();
    for (const Track& other : trace_.tracks()) {
      if (other.kind != TrackKind::kThread || other.process != track_.process) continue;
      for (uint32_t row = other.first_slice; row < other.first_slice + other.slice_count; ++row) {
        if (thread_.role(slices.label[row]) != TrainingRole::kBackwardNode) continue;
        const Interval time{slices.start_ns[row], slices.end_ns(row)};
        if (!is_in_optimizer(time.begin_ns)) nodes.push_back({EventKind::kBackward, time, {}});
      }
    }
  }

  bool is_in_optimizer(int64_t time_ns) const {
    const auto after = std::upper_bound(
        events_.begin(), events_.end(), time_ns,
        [](int64_t wanted_ns, const Event& event) { return wanted_ns < event.time.begin_ns; });
    return after != events_.begin() && (after - 1)->kind == EventKind::kOptimizer &&
           time_ns < (after - 1)->time.end_ns;
  }

  const Trace& trace_;
  const TrainingThread& thread_;
  const Track& track_;
  std::vector<Event> events_;  // fetches and optimizers
  std::vector<Event> calls_;
  std::vector<Event> nodes_;
};

// Puts the events of a loop together to steps.
class StepGrouper {
 public:
  explicit StepGrouper(const std::vector<Event>& events) : events_(events) {
    uint64_t fetches = 0;
    uint64_t runs = 0;
    uint64_t optimizers = 0;
    uint64_t fewest = UINT64_MAX;
    for (const Event& event : events_) {
      if (event.kind == EventKind::kFetch) {
        ++fetches;
        continue;
      }
      if (fetches > 0) {
        ++runs;
        fewest = std::min(fewest, fetches);
      }
      fetches = 0;
      if (event.kind == EventKind::kOptimizer) ++optimizers;
    }
    is_fed_by_loader_ = runs > 1 && optimizers <= runs * kMostOptimizersPerFetch;
    fetches_per_step_ = is_fed_by_loader_ ? fewest : 1;
  }

  // `first_begin_ns`: of a first step that has no fetch.
  std::vector<Interval> group(int64_t first_begin_ns) {
    begin_ns_ = first_begin_ns;
    for (size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      if (event.kind == EventKind::kFetch) {
        const size_t first = i;
        while (i + 1 < events_.size() && events_[i + 1].kind == EventKind::kFetch) ++i;
        add_fetches(first, i + 1 - first);
      } else if (event.kind == EventKind::kBackward) {
        has_backward_ = true;
      } else {
        add_optimizer(event);
      }
    }
    if (!names_.empty()) close(last_end_ns_);
    return std::move(steps_);
  }

 private:
  void add_fetches(size_t first, size_t count) {
    const size_t skipped = count - std::min<size_t>(count, fetches_per_step_);
    const int64_t step_begin_ns = events_[first + skipped].time.begin_ns;
    if (!names_.empty()) {
      close(events_[first].time.begin_ns);
      begin_ns_ = step_begin_ns;
    } else if (!has_backward_ || skipped > 0) {
      begin_ns_ = step_begin_ns;
      has_backward_ = false;
    }
  }

  void add_optimizer(const Event& event) {
    if (!is_fed_by_loader_ && names_.contains(index(event.name))) close(last_end_ns_);
    names_.insert(index(event.name));
    last_end_ns_ = event.time.end_ns;
  }

  void close(int64_t end_ns) {
    if (!steps_.empty()) begin_ns_ = std::max(begin_ns_, steps_.back().end_ns);
    if (end_ns > begin_ns_) steps_.push_back({begin_ns_, end_ns});
    begin_ns_ = end_ns;
    has_backward_ = false;
    names_.clear();
  }

  const std::vector<Event>& events_;
  bool is_fed_by_loader_ = false;
  uint64_t fetches_per_step_ = 1;
  std::vector<Interval> steps_;
  // Of the step that is being put together.
  int64_t begin_ns_ = 0;
  int64_t last_end_ns_ = 0;
  bool has_backward_ = false;
  std::unordered_set<uint32_t> names_;  // of its optimizers
};

// Where the forward pass begins that led to the thread's first B, which is at `backward_ns`.
class ForwardFinder {
 public:
  ForwardFinder(const Trace& trace, const TrainingThread& thread, const Track& track,
                int64_t backward_ns)
      : trace_(trace), thread_(thread), track_(track), backward_ns_(backward_ns) {}

  // `optimizer_ns`: where that B's step ends.
  int64_t find_begin_ns(int64_t optimizer_ns) const {
    int64_t begin_ns = find_by_sequence(optimizer_ns).value_or(INT64_MAX);
    if (begin_ns == INT64_MAX) begin_ns = find_first(TrainingRole::kForward);
    begin_ns = std::min(begin_ns, find_first(TrainingRole::kZeroGrad));
    if (begin_ns == INT64_MAX) begin_ns = find_first(TrainingRole::kOperator);
    return std::min(begin_ns, backward_ns_);
  }

 private:
  int64_t find_first(TrainingRole role) const {
    const SliceColumns& slices = trace_.slices();
    for (uint32_t row = track_.first_slice; row < track_.first_slice + track_.slice_count; ++row) {
      if (slices.start_ns[row] >= backward_ns_) break;
      if (thread_.role(slices.label[row]) == role) return slices.start_ns[row];
    }
    return INT64_MAX;
  }

  // A node has the sequence number of the operator that made it. Operators that make none carry the
  // number of the next, so that the last one with a number is the one.
  std::optional<int64_t> find_by_sequence(int64_t optimizer_ns) const {
    const ArgColumn* numbers = trace_.find_args("Sequence number", ArgType::kInt);
    if (numbers == nullptr) return std::nullopt;
    const SliceColumns& slices = trace_.slices();
    int64_t oldest = INT64_MAX;
    for (size_t i = 0; i < numbers->rows.size(); ++i) {
      const size_t row = index(numbers->rows[i]);
      if (slices.start_ns[row] < backward_ns_ || slices.start_ns[row] >= optimizer_ns) continue;
      if (thread_.role(slices.label[row]) != TrainingRole::kBackwardNode) continue;
      // A leaf's node was made by no operator.
      if (trace_.slice_name(numbers->rows[i]).ends_with("AccumulateGrad")) continue;
      if (trace_.tracks()[index(trace_.find_track_of(numbers->rows[i]))].process !=
          track_.process) {
        continue;
      }
      if (numbers->ints[i] >= 0) oldest = std::min(oldest, numbers->ints[i]);
    }
    std::optional<SliceId> made_by;
    auto at =
        std::lower_bound(numbers->rows.begin(), numbers->rows.end(), SliceId{track_.first_slice});
    for (; at != numbers->rows.end(); ++at) {
      const uint32_t row = index(*at);
      if (row >= track_.first_slice + track_.slice_count) break;
      if (slices.start_ns[row] >= backward_ns_) break;
      if (numbers->ints[static_cast<size_t>(at - numbers->rows.begin())] == oldest) made_by = *at;
    }
    if (!made_by) return std::nullopt;
    return find_outermost_begin_ns(*made_by);
  }

  int64_t find_outermost_begin_ns(SliceId slice) const {
    const SliceColumns& slices = trace_.slices();
    int64_t begin_ns = slices.start_ns[index(slice)];
    for (SliceId at = slice; at != kNoSlice; at = slices.parent[index(at)]) {
      const TrainingRole role = thread_.role(slices.label[index(at)]);
      if (role != TrainingRole::kNone && role != TrainingRole::kHost) {
        begin_ns = slices.start_ns[index(at)];
      }
    }
    return begin_ns;
  }

  const Trace& trace_;
  const TrainingThread& thread_;
  const Track& track_;
  int64_t backward_ns_;
};

}  // namespace

std::vector<Interval> find_steps(const Trace& trace, const TrainingThread& thread) {
  if (!thread.track() || !thread.has(TrainingRole::kOptimizerStep)) return {};
  const Track& track = trace.tracks()[index(*thread.track())];
  const std::vector<Event> events = LoopReader(trace, thread, track).read();
  const auto is_optimizer = [](const Event& event) { return event.kind == EventKind::kOptimizer; };
  const auto optimizer = std::find_if(events.begin(), events.end(), is_optimizer);
  if (optimizer == events.end()) return {};
  int64_t first_begin_ns = events.front().time.begin_ns;
  if (events.front().kind == EventKind::kBackward) {
    first_begin_ns =
        ForwardFinder(trace, thread, track, first_begin_ns).find_begin_ns(optimizer->time.begin_ns);
  }
  return StepGrouper(events).group(first_begin_ns);
}

}  // namespace stepscope
