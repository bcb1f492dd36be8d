#include "analyze/training_thread.h"

#include <algorithm>
#include <array>
#include <set>

#include "analyze/calls_of_samples.h"
#include "analyze/operator_rules.h"
#include "trace/torch_scopes.h"

namespace stepscope {
namespace {

using std::string_view;

// torch/_tensor.py(566): backward, with any folders before; the name may have its class.
bool is_python_backward(string_view name) {
  const size_t line_end = name.find("): ");
  if (line_end == name.npos) return false;
  const string_view function = name.substr(line_end + 3);
  const size_t line_begin = name.rfind('(', line_end);
  if (line_begin == name.npos) return false;
  const string_view file = name.substr(0, line_begin);
  if (file.ends_with("torch/_tensor.py")) {
    return function == "backward" || function == "Tensor.backward";
  }
  return file.ends_with("torch/autograd/__init__.py") && function == "backward";
}

bool is_collective(string_view name) {
  return is_communication_scope(name) || name.starts_with("c10d::") ||
         name.starts_with("_c10d_functional::") || name == "record_param_comms";
}

bool is_copy(string_view name) {
  return name == "aten::to" || name == "aten::_to_copy" || name == "aten::copy_";
}

// Scopes of Lightning's own PyTorchProfiler: [pl][profile][Strategy]DDPStrategy.training_step
TrainingRole find_lightning_role(string_view name) {
  if (name.starts_with("[pl][profile][Strategy]")) {
    if (name.ends_with(".training_step")) return TrainingRole::kForward;
    if (name.ends_with(".backward")) return TrainingRole::kBackwardCall;
  }
  if (name.ends_with("].train_dataloader_next") || name.ends_with("].val_next")) {
    return TrainingRole::kInput;
  }
  return TrainingRole::kNone;
}

TrainingRole find_scope_role(string_view name) {
  if (name.starts_with("[pl]")) return find_lightning_role(name);
  if (is_input_scope(name)) return TrainingRole::kInput;
  if (is_optimizer_scope(name)) return TrainingRole::kOptimizerStep;
  if (is_zero_grad_scope(name)) return TrainingRole::kZeroGrad;
  if (name == "DistributedDataParallel.forward" || name == "DataParallel.forward") {
    return TrainingRole::kForward;
  }
  return is_collective(name) ? TrainingRole::kCommunication : TrainingRole::kNone;
}

TrainingRole find_role(const Trace& trace, const Label& label, bool has_operators) {
  const string_view name = trace.string(label.name);
  if (is_module_call(trace, label)) return TrainingRole::kForward;
  switch (label.kind) {
    case SliceKind::kOperator: {
      const TrainingRole role = find_scope_role(name);
      if (role != TrainingRole::kNone) return role;
      if (is_backward_node(name) || is_backward_function(name)) return TrainingRole::kBackwardNode;
      return is_copy(name) ? TrainingRole::kCopy : TrainingRole::kOperator;
    }
    case SliceKind::kAnnotation: {
      if (name == "backward" && trace.string(label.category) == kPhaseCategory) {
        return TrainingRole::kBackwardCall;
      }
      const TrainingRole role = find_scope_role(name);
      // Beside operators a user's scope says where they are; without any it is all there is.
      if (role == TrainingRole::kNone && !has_operators) return TrainingRole::kHost;
      return role;
    }
    case SliceKind::kPython:
      return is_python_backward(name) ? TrainingRole::kBackwardCall : TrainingRole::kHost;
    case SliceKind::kOther:
      if (trace.string(label.category) == kSampledWaitCategory) return TrainingRole::kWaiting;
      return TrainingRole::kHost;
    case SliceKind::kCall:
    case SliceKind::kRuntime:
    case SliceKind::kOverhead:
      return TrainingRole::kHost;
    default:
      return TrainingRole::kNone;
  }
}

// What speaks for a thread, the strongest first: optimizers, steps, operators, slices.
using Claim = std::array<uint32_t, 4>;

}  // namespace

bool is_module_call(const Trace& trace, const Label& label) {
  const string_view name = trace.string(label.name);
  return trace.string(label.category) == "nn_module" ||
         (label.kind == SliceKind::kPython && name.starts_with("nn.Module: ")) ||
         (label.kind == SliceKind::kAnnotation && name.starts_with(kLightningModulePrefix));
}

std::shared_ptr<const TrainingThread> TrainingThread::of(const Trace& trace) {
  return trace.derived().get<TrainingThread>("training thread",
                                             [&] { return TrainingThread(trace); });
}

TrainingThread::TrainingThread(const Trace& trace) {
  const std::vector<Label>& labels = trace.labels().all();
  const bool has_operators = std::any_of(labels.begin(), labels.end(), [](const Label& label) {
    return label.kind == SliceKind::kOperator;
  });
  roles_.reserve(labels.size());
  for (const Label& label : labels) roles_.push_back(find_role(trace, label, has_operators));
  find_track(trace);
}

bool TrainingThread::has(TrainingRole role) const {
  return std::find(roles_.begin(), roles_.end(), role) != roles_.end();
}

void TrainingThread::find_track(const Trace& trace) {
  const SliceColumns& slices = trace.slices();
  const std::vector<Label>& labels = trace.labels().all();
  std::set<uint32_t> ranks;
  Claim best{};
  for (size_t i = 0; i < trace.tracks().size(); ++i) {
    const Track& track = trace.tracks()[i];
    if (track.kind != TrackKind::kThread) continue;
    Claim claim{0, 0, 0, track.slice_count};
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const LabelId label = slices.label[row];
      claim[0] += role(label) == TrainingRole::kOptimizerStep;
      claim[1] += labels[index(label)].kind == SliceKind::kStep;
      claim[2] += labels[index(label)].kind == SliceKind::kOperator;
    }
    if (claim[0] > 0) ranks.insert(track.process);
    if (claim > best) {
      best = claim;
      track_ = TrackId{static_cast<uint32_t>(i)};
    }
  }
  other_ranks_ = ranks.size() > 1 ? ranks.size() - 1 : 0;
}

}  // namespace stepscope
