// What the formulas of an operator's cost read, its inputs, and what they give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/operator_cost.h"
#include "analyze/shapes.h"

namespace stepscope {

// One input: a tensor, the tensors of a list, or nothing of which a shape is known.
struct CostInput {
  std::vector<Shape> shapes;
  uint32_t element_bytes = 0;  // 0: not known, or no tensor
  bool is_tensor = false;
};

struct CostInputs {
  static CostInputs parse(const OperatorInputTexts& texts);

  std::vector<CostInput> all;
  std::vector<std::string> concrete;
  bool has_types = false;

  // Null where input `i` is no single tensor.
  const Shape* tensor(size_t i) const;
  // A list of integers as "Concrete Inputs" has it: "[1, 1]"; one number stands for all axes.
  std::optional<Shape> integers(size_t i, size_t axes) const;
  // 0 where it is none.
  uint64_t positive_number(size_t i) const;
  bool is_true(size_t i) const { return i < concrete.size() && concrete[i] == "True"; }
};

// What a formula finds: operations, where there are any, and outputs, as far as they are known.
struct CostWork {
  std::optional<uint64_t> flops;
  std::vector<Shape> outputs;
};

uint64_t count_elements(std::span<const int64_t> shape);
uint64_t count_elements(const std::vector<Shape>& shapes);

}  // namespace stepscope
