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
  // Room for so many values; put() takes it.
  void make_room(size_t halves) {
    if (halves_.size() - count_ < halves) [[unlikely]]
      halves_.resize(2 * (count_ + halves));
  }
  void put(uint32_t half) { halves_[count_++] = half; }
  void put_wide(uint64_t value);
  void put_head(format::InputKind kind, size_t count = 0, uint32_t type = 0, uint32_t flags = 0);
  void put_input(const c10::IValue& input);
  void put_tensor(const at::Tensor& tensor);
  void put_list(const c10::IValue& input);

  std::vector<uint32_t> halves_ = std::vector<uint32_t>(256);
  size_t count_ = 0;  // of those in use
};

}  // namespace stepscope::torch
