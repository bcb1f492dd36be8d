// ModelCalls: calls of modules on the training thread, and what autograd did with each: whether it
// recorded them, whether a backward pass went through them, and what became of their gradients.
//
// A parameter's gradient is taken over as it is where there was none (after zero_grad), and added
// to where one was left from before: nobody zeroes it, so no optimizer has the parameter.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "advise/case.h"
#include "trace/ids.h"

namespace stepscope {

struct ModelCall {
  static constexpr uint32_t kNone = UINT32_MAX;

  SliceId slice = kNoSlice;
  SliceId user_call = kNoSlice;  // the user's function that called it
  uint32_t parent = kNone;       // the module call around it
  uint32_t step = kNone;         // the steady step that it is in
  uint64_t operators_hash = 0;   // of the names of its operators, in order
  uint64_t operators = 0;        // outermost ones
  int64_t first_number = -1;     // of autograd's nodes, before it and after it
  int64_t next_number = -1;
  int64_t first_used_number = INT64_MAX;
  uint64_t used_nodes = 0;  // that a backward pass went through
  int64_t backward_ns = 0;  // of these, and of what became of their gradients
  uint64_t new_gradients = 0;
  uint64_t added_gradients = 0;
  bool is_in_backward = false;  // computed again, for activation checkpoints

  int64_t nodes() const {
    return first_number < 0 || next_number < first_number ? 0 : next_number - first_number;
  }
  bool is_recorded() const { return nodes() > 0; }
};

class ModelCalls {
 public:
  static std::shared_ptr<const ModelCalls> of(const Case& c);
  explicit ModelCalls(const Case& c);

  const std::vector<ModelCall>& all() const { return calls_; }  // in order of slices
  // The first node that a backward pass went through, of operators in a steady step.
  int64_t first_used_number(uint32_t step) const { return first_used_number_[step]; }
  // Whether a moment in a step is before the step's first call of a model; not where it calls none.
  bool is_before_model(uint32_t step, int64_t time_ns) const {
    return first_call_ns_[step] != INT64_MAX && time_ns < first_call_ns_[step];
  }
  bool has_backward() const { return has_backward_; }
  bool has_numbers() const { return has_numbers_; }

 private:
  void find_calls(const Case& c);
  void find_backward(const Case& c);
  void add_to_parents();

  std::vector<ModelCall> calls_;
  std::vector<int64_t> first_used_number_;  // by step
  std::vector<int64_t> first_call_ns_;      // by step; INT64_MAX: it has none
  bool has_backward_ = false;
  bool has_numbers_ = false;
};

}  // namespace stepscope
