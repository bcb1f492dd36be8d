// What an operator of PyTorch has to do, worked out from its inputs: floating-point operations and
// bytes. One table for the whole project: the view operators (and with_flops, which reads it) and
// `stepscope analyze` go by it.
//
//   const CostRule* rule = find_cost_rule("aten::mm");
//   OperatorCost cost = count_cost(*rule, {.dims = "[[8, 16], [16, 4]]", .types =
//   R"(["float",…])"});
//   // flops 1024, bytes 4 * (8*16 + 16*4 + 8*4), outputs {{8, 4}}
//
// Where torch.profiler's with_flops counts, the count is the same. Elsewhere: a multiplication and
// an addition are two; an elementwise operator takes one per output and input beyond the first, as
// MegEngine has it; a reduction one per input. Every input is read and every output written once.
// Operators that only call others that are counted (aten::linear, aten::matmul) have no rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/shapes.h"

namespace stepscope {

struct CostRule;

// As Kineto writes them: "Input Dims", "Input type", "Concrete Inputs". The last two may be "".
struct OperatorInputTexts {
  std::string_view dims;
  std::string_view types;
  std::string_view concrete;
};

struct OperatorCost {
  std::optional<uint64_t> flops;
  std::optional<uint64_t> bytes;  // where the types of the inputs are known too
  std::vector<Shape> inputs;      // tensors only, those of lists too
  std::vector<Shape> outputs;     // as far as they are known
};

// Null where nothing is known of it. Forms that work in place (aten::add_) go with the others.
const CostRule* find_cost_rule(std::string_view operator_name);
// Whether it also counts where another operator calls it that is counted; aten::convolution does
// not, which aten::conv2d calls.
bool is_counted_within(const CostRule& rule);
OperatorCost count_cost(const CostRule& rule, const OperatorInputTexts& texts);

// Bytes of an element by its name in "Input type": 4 of "float", 2 of "c10::BFloat16"; 0: unknown.
uint32_t element_bytes(std::string_view type);

}  // namespace stepscope
