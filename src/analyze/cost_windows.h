// The cost of operators that move a window over their input: convolutions and pooling. Nothing
// where the inputs do not tell.
#pragma once

#include <cstddef>
#include <optional>

#include "analyze/cost_inputs.h"

namespace stepscope {

// Where the arguments of a convolution are.
struct ConvolutionArguments {
  size_t stride = 3, padding = 4, dilation = 5, groups = 6, output_padding = 5;
};

std::optional<CostWork> convolution_work(const CostInputs& inputs, const ConvolutionArguments& at);
std::optional<CostWork> transposed_convolution_work(const CostInputs& inputs,
                                                    const ConvolutionArguments& at);
std::optional<CostWork> convolution_backward_work(const CostInputs& inputs);
std::optional<CostWork> pool_work(const CostInputs& inputs);

}  // namespace stepscope
