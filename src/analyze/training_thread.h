// Who trains in a trace, and what each of its slices is for training: the thread that calls
// optimizers (the first of those with most calls), and a role per label. Where no optimizer was
// seen it is the thread with most steps, else with most operators, else with most slices. Several
// ranks in one trace each have such a thread: one stands for all, the others are counted.
//
//   std::shared_ptr<const TrainingThread> thread = TrainingThread::of(trace);
//   if (thread->role(slices.label[row]) == TrainingRole::kInput) …
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/ids.h"
#include "trace/trace.h"

namespace stepscope {

enum class TrainingRole : uint8_t {
  kNone = 0,       // no work by itself: annotations, steps, moments
  kInput,          // waiting for the DataLoader
  kForward,        // a module's call
  kBackwardCall,   // Tensor.backward, as a mark or as a Python function
  kBackwardNode,   // autograd::engine::evaluate_function: AddmmBackward0
  kOptimizerStep,  // Optimizer.step#SGD.step
  kZeroGrad,       // Optimizer.zero_grad#SGD.zero_grad
  kCommunication,  // nccl:all_reduce, c10d::allreduce_
  kCopy,           // aten::to, aten::_to_copy, aten::copy_
  kOperator,       // any other
  kHost,           // Python, runtime calls, …
  kWaiting,        // a sampled thread that used no CPU (calls_of_samples.h)
};

class TrainingThread {
 public:
  // That of a trace, found once.
  static std::shared_ptr<const TrainingThread> of(const Trace& trace);

  explicit TrainingThread(const Trace& trace);

  TrainingRole role(LabelId label) const { return roles_[index(label)]; }
  bool has(TrainingRole role) const;  // whether any label has it
  std::optional<TrackId> track() const { return track_; }
  uint64_t other_ranks() const { return other_ranks_; }  // processes with optimizers besides it

 private:
  void find_track(const Trace& trace);

  std::vector<TrainingRole> roles_;  // by label
  std::optional<TrackId> track_;
  uint64_t other_ranks_ = 0;
};

// Lightning's profiler: [pl][module]torch.nn.modules.linear.Linear: head
inline constexpr std::string_view kLightningModulePrefix = "[pl][module]";
// A slice that is a module's call: "nn.Module: Linear_0", of the category nn_module, or
// Lightning's.
bool is_module_call(const Trace& trace, const Label& label);

}  // namespace stepscope
