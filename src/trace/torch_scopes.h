// The names under which torch itself, or our collector of it, records what a training program does.
#pragma once

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

// The category of our collector's marks, whose names say what goes on: backward, fetch, collate.
inline constexpr std::string_view kPhaseCategory = "phase";

}  // namespace stepscope
