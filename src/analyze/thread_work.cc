#include "analyze/thread_work.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "analyze/async_scopes.h"
#include "analyze/sync_calls.h"

namespace stepscope {
namespace {

// What a slice is in, or is itself.
enum Around : uint8_t {
  kInInput = 1,
  kInCommunication = 2,
  kInForward = 4,
  kInBackward = 8,
  kInOptimizer = 16,
  kInCopy = 32,
  kInOperator = 64,
  kInZeroGrad = 128,
};

uint8_t around_of(TrainingRole role) {
  switch (role) {
    case TrainingRole::kInput:
      return kInInput;
    case TrainingRole::kCommunication:
      return kInCommunication | kInOperator;
    case TrainingRole::kForward:
      return kInForward;
    case TrainingRole::kBackwardCall:
      return kInBackward;
    case TrainingRole::kBackwardNode:
      return kInBackward | kInOperator;
    case TrainingRole::kOptimizerStep:
      return kInOptimizer;
    case TrainingRole::kZeroGrad:
      return kInZeroGrad;
    case TrainingRole::kCopy:
      return kInCopy | kInOperator;
    case TrainingRole::kOperator:
      return kInOperator;
    default:
      return 0;
  }
}

bool is_wait(const Trace& trace, const Label& label) {
  if (label.kind != SliceKind::kRuntime) return false;
  const std::string_view name = trace.string(label.name);
  return is_sync_call(name) || name == "cudaMemcpy" || name == "hipMemcpy";
}

class Walk {
 public:
  Walk(const Trace& trace, const TrainingThread& thread, ThreadWork& work)
      : trace_(trace), slices_(trace.slices()), thread_(thread), work_(work) {
    for (const Label& label : trace.labels().all()) is_wait_.push_back(is_wait(trace, label));
  }

  void walk_training_thread(const Track& track) {
    std::vector<uint8_t> around(track.slice_count);
    for (uint32_t i = 0; i < track.slice_count; ++i) {
      const uint32_t row = track.first_slice + i;
      const SliceId parent = slices_.parent[row];
      const uint8_t outer = parent == kNoSlice ? 0 : around[index(parent) - track.first_slice];
      const TrainingRole role = thread_.role(slices_.label[row]);
      around[i] = outer | around_of(role);
      if (role == TrainingRole::kCommunication && goes_on_in_background(trace_, row)) {
        around[i] = outer;  // what it holds is not part of it
        work_.async_communication.add(slices_.start_ns[row], slices_.end_ns(row));
        continue;
      }
      add({slices_.start_ns[row], slices_.end_ns(row)}, role, outer);
      if (is_wait_[index(slices_.label[row])]) {
        work_.waits.add(slices_.start_ns[row], slices_.end_ns(row));
      }
    }
  }

  void walk_other_thread(const Track& track) {
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const TrainingRole role = thread_.role(slices_.label[row]);
      const Interval time{slices_.start_ns[row], slices_.end_ns(row)};
      if (role == TrainingRole::kCommunication) {
        work_.other_communication.add(time.begin_ns, time.end_ns);
      } else if ((around_of(role) & kInOperator) != 0) {
        work_.other_operators.add(time.begin_ns, time.end_ns);
        if (role == TrainingRole::kBackwardNode) work_.backward_nodes.push_back(time);
      }
    }
  }

 private:
  void add(const Interval& time, TrainingRole role, uint8_t outer) {
    const auto add_to = [&](IntervalSet& set) { set.add(time.begin_ns, time.end_ns); };
    if (role == TrainingRole::kNone) return;
    add_to(work_.any);
    if ((around_of(role) & kInOperator) != 0) add_to(work_.operators);
    switch (role) {
      case TrainingRole::kInput:
        return add_to(work_.input);
      case TrainingRole::kCommunication:
        return add_to(work_.communication);
      case TrainingRole::kForward:
        return add_to(work_.forward);
      case TrainingRole::kBackwardCall:
        return add_to(work_.backward_calls);
      case TrainingRole::kBackwardNode:
        if ((outer & kInBackward) == 0) work_.backward_nodes.push_back(time);
        return;
      case TrainingRole::kZeroGrad:
        return add_to(work_.zero_grad);
      case TrainingRole::kWaiting:
        return add_to(work_.waiting);
      case TrainingRole::kOptimizerStep:
        return add_to((outer & kInBackward) != 0 ? work_.optimizer_backward : work_.optimizer);
      case TrainingRole::kCopy:
        if ((outer & kInOperator) == 0) add_to(work_.copies);
        return;
      case TrainingRole::kOperator:
        if (outer == 0 || outer == kInOptimizer) work_.loose_operators.push_back(time);
        return;
      default:
        return;
    }
  }

  const Trace& trace_;
  const SliceColumns& slices_;
  const TrainingThread& thread_;
  ThreadWork& work_;
  std::vector<bool> is_wait_;  // by label
};

bool begins_before(const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; }

// An optimizer's own operators are not loose. Those of its closure are: what comes before a
// backward pass in it.
void remove_operators_of_optimizers(ThreadWork& work) {
  IntervalSet closures;
  const auto add_closure = [&](const Interval& backward) {
    const Interval* optimizer = work.optimizer.find(backward.begin_ns);
    if (optimizer != nullptr) closures.add(optimizer->begin_ns, backward.begin_ns);
  };
  for (const Interval& node : work.backward_nodes) add_closure(node);
  for (const Interval& call : work.backward_calls.intervals()) add_closure(call);
  closures.normalize();
  std::erase_if(work.loose_operators, [&](const Interval& op) {
    return work.optimizer.contains(op.begin_ns) && !closures.contains(op.begin_ns);
  });
}

}  // namespace

ThreadWork ThreadWork::find(const Trace& trace, const TrainingThread& thread, TrackId track) {
  ThreadWork work;
  Walk walk(trace, thread, work);
  const Track& own = trace.tracks()[index(track)];
  walk.walk_training_thread(own);
  for (size_t i = 0; i < trace.tracks().size(); ++i) {
    const Track& other = trace.tracks()[i];
    if (i == index(track) || other.kind != TrackKind::kThread) continue;
    if (other.process == own.process) walk.walk_other_thread(other);
  }
  for (IntervalSet* set :
       {&work.input, &work.communication, &work.async_communication, &work.forward,
        &work.backward_calls, &work.zero_grad, &work.optimizer, &work.optimizer_backward,
        &work.copies, &work.operators, &work.waits, &work.waiting, &work.any,
        &work.other_communication, &work.other_operators}) {
    set->normalize();
  }
  std::erase_if(work.backward_nodes,
                [&](const Interval& node) { return work.backward_calls.contains(node.begin_ns); });
  std::stable_sort(work.backward_nodes.begin(), work.backward_nodes.end(), begins_before);
  remove_operators_of_optimizers(work);
  return work;
}

}  // namespace stepscope
