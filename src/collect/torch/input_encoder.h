// InputEncoder: what an operator is called with, as words of `inputs` records (docs/format.md,
// "Inputs of operators"): shapes, types and strides of tensors, the values of scalars, as much as
// torch.profiler's record_shapes keeps.
//
//   InputEncoder encoder;                 // one per thread: its buffer is used again
//   encoder.attach(function.inputs());    // to the scope that was just begun
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <vector>

#include "format/operator_inputs.h"

namespace stepscope::torch {

class InputEncoder {
 public:
  void attach(c10::ArrayRef<const c10::IValue> inputs);

 private:
  void put(uint32_t half) { halves_.push_back(half); }
  void put_wide(uint64_t value);
  void put_head(format::InputKind kind, size_t count = 0, uint32_t type = 0, uint32_t flags = 0);
  void put_input(const c10::IValue& input);
  void put_tensor(const at::Tensor& tensor);
  void put_list(const c10::IValue& input);

  std::vector<uint32_t> halves_;
};

}  // namespace stepscope::torch
