// The table of operators whose cost is known, by name: which formula counts it. What the formulas
// are is said in cost_windows.h and operator_cost.cc.
#pragma once

#include <cstdint>
#include <string_view>

namespace stepscope {

enum class CostFormula : uint8_t {
  kMatmul,          // left, right from input `first` on
  kBatchMatmul,     //
  kMatrixVector,    //
  kDot,             //
  kFirstInput,      // one per element of the first input, whatever that is added to: torch's count
  kElementwise,     // of inputs that are broadcast
  kReduce,          // of the first input; what comes out is small
  kPerElement,      // `factor` per element of the first input, of which comes one as large
  kForeach,         // `factor` per element of the first list
  kMove,            // no arithmetic: read and written once
  kFill,            // no arithmetic: written once
  kConvolution,     // input, weight, bias, stride, padding, dilation, groups
  kTransposed,      // input, weight, bias, stride, padding, output padding, groups, dilation
  kAnyConvolution,  // input, weight, bias, stride, padding, dilation, is transposed, …, groups
  kConvBackward,    // grad_output, input, weight, …, mask at input 10
  kPool,            // input, kernel, stride, padding; one per output and place of the window
  kPoolInput,       // one per input
  kEmbedding,       // table, indices
  kAttention,       // query, key, value
  kAttentionBack,   // gradient, query, key, value
  kRnnLayer,        // input, two weights: oneDNN's
  kRnnWeights,      // input, list of weights: cuDNN's
};

struct CostRule {
  std::string_view name;  // without aten::
  CostFormula formula;
  uint8_t first = 0;      // the input to begin with
  uint8_t factor = 1;     // operations per element
  bool is_inner = false;  // others that are counted call it too
};

}  // namespace stepscope
