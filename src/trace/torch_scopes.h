// The names under which torch itself, or our collector of it, records what a training program does.
#pragma once

#include <cstddef>
#include <string_view>

namespace stepscope {

// enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__, enumerate(DataPipe)#…
inline bool is_input_scope(std::string_view name) {
  return (name.starts_with("enumerate(DataLoader)#") && name.ends_with(".__next__")) ||
         name.starts_with("enumerate(DataPipe)#");
}
// Optimizer.step#SGD.step
inline bool is_optimizer_scope(std::string_view name) {
  return name.starts_with("Optimizer.step#");
}
// Optimizer.zero_grad#SGD.zero_grad
inline bool is_zero_grad_scope(std::string_view name) {
  return name.starts_with("Optimizer.zero_grad#");
}
// autograd::engine::evaluate_function: AddmmBackward0
inline bool is_backward_node(std::string_view name) {
  return name.starts_with("autograd::engine::evaluate_function");
}

// The function that a node runs: AddmmBackward0, torch::autograd::AccumulateGrad. Before torch 1.9
// it is all that is recorded of a node.
inline bool is_backward_function(std::string_view name) {
  if (name.starts_with("torch::autograd::")) return true;
  const size_t end = name.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  constexpr std::string_view kSuffix = "Backward";
  return end > kSuffix.size() && name.substr(0, end).ends_with(kSuffix) &&
         name.find(':') == std::string_view::npos;
}

// The category of our collector's marks, whose names say what goes on: backward, fetch, collate.
inline constexpr std::string_view kPhaseCategory = "phase";

// Slices of this category tell when operators were recorded (collect/torch/sampling_windows.h): the
// outer ones of the sampling as a whole, those inside of windows.
inline constexpr std::string_view kSamplingCategory = "sampling";

// The category of the program's own scopes. They need not nest with calls: record_function's begin
// in one Python function and end in another.
inline constexpr std::string_view kUserScopeCategory = "user_annotation";

}  // namespace stepscope
