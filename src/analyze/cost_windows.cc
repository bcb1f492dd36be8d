#include "analyze/cost_windows.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>

namespace stepscope {
namespace {

// Small enough to be multiplied.
bool are_sizes(std::initializer_list<int64_t> values) {
  return std::all_of(values.begin(), values.end(),
                     [](int64_t value) { return value >= 0 && value <= int64_t{1} << 30; });
}

// How often a window of `size` fits.
std::optional<int64_t> window_count(int64_t input, int64_t size, int64_t stride, int64_t padding,
                                    int64_t dilation) {
  if (!are_sizes({input, size, stride, padding, dilation})) return std::nullopt;
  const int64_t room = input + 2 * padding - dilation * (size - 1) - 1;
  if (stride == 0 || size == 0 || room < 0) return std::nullopt;
  return room / stride + 1;
}

}  // namespace

std::optional<CostWork> convolution_work(const CostInputs& inputs, const ConvolutionArguments& at) {
  const Shape* input = inputs.tensor(0);
  const Shape* weight = inputs.tensor(1);
  if (input == nullptr || weight == nullptr || weight->size() < 3) return {};
  const size_t axes = weight->size() - 2;
  const auto stride = inputs.integers(at.stride, axes);
  const auto padding = inputs.integers(at.padding, axes);
  const auto dilation = inputs.integers(at.dilation, axes);
  if (!stride || !padding || !dilation || inputs.positive_number(at.groups) == 0) return {};
  const bool is_batched = input->size() == weight->size();
  if (!is_batched && input->size() + 1 != weight->size()) return {};
  Shape output = *input;
  output[is_batched ? 1 : 0] = weight->front();
  for (size_t axis = 0; axis < axes; ++axis) {
    int64_t& size = output[output.size() - axes + axis];
    const auto windows = window_count(size, (*weight)[2 + axis], (*stride)[axis], (*padding)[axis],
                                      (*dilation)[axis]);
    if (!windows) return {};
    size = *windows;
  }
  // The weight's second size is the input's channels by groups already.
  return CostWork{2 * count_elements(output) * count_elements(std::span(*weight).subspan(1)),
                  {output}};
}

std::optional<CostWork> transposed_convolution_work(const CostInputs& inputs,
                                                    const ConvolutionArguments& at) {
  const Shape* input = inputs.tensor(0);
  const Shape* weight = inputs.tensor(1);  // input channels, output channels by groups, window
  if (input == nullptr || weight == nullptr || weight->size() < 3) return {};
  const size_t axes = weight->size() - 2;
  const auto stride = inputs.integers(at.stride, axes);
  const auto padding = inputs.integers(at.padding, axes);
  const auto output_padding = inputs.integers(at.output_padding, axes);
  const uint64_t groups = inputs.positive_number(at.groups);
  const auto dilation = inputs.integers(at.dilation, axes);
  const bool is_batched = input->size() == weight->size();
  if (!is_batched && input->size() + 1 != weight->size()) return {};
  CostWork work{2 * count_elements(*input) * count_elements(std::span(*weight).subspan(1)), {}};
  if (!stride || !padding || !output_padding || !dilation || groups == 0) return work;
  Shape output = *input;
  const auto group_number = static_cast<int64_t>(groups);
  if (!are_sizes({(*weight)[1], group_number})) return work;
  output[is_batched ? 1 : 0] = (*weight)[1] * group_number;
  for (size_t axis = 0; axis < axes; ++axis) {
    int64_t& size = output[output.size() - axes + axis];
    if (!are_sizes({size, (*stride)[axis], (*padding)[axis], (*dilation)[axis], (*weight)[2 + axis],
                    (*output_padding)[axis]})) {
      return work;
    }
    size = (size - 1) * (*stride)[axis] - 2 * (*padding)[axis] +
           (*dilation)[axis] * ((*weight)[2 + axis] - 1) + (*output_padding)[axis] + 1;
    if (size <= 0) return work;
  }
  work.outputs = {output};
  return work;
}

std::optional<CostWork> convolution_backward_work(const CostInputs& inputs) {
  const Shape* gradient = inputs.tensor(0);
  const Shape* input = inputs.tensor(1);
  const Shape* weight = inputs.tensor(2);
  if (gradient == nullptr || input == nullptr || weight == nullptr || weight->size() < 3) return {};
  const bool is_transposed = inputs.is_true(7);
  const uint64_t once = 2 * count_elements(is_transposed ? *input : *gradient) *
                        count_elements(std::span(*weight).subspan(1));
  // Which of input, weight and bias want a gradient: "[True, True, False]".
  const std::string mask = inputs.concrete.size() > 10 ? inputs.concrete[10] : "";
  const size_t comma = mask.find(',');
  const bool knows_mask = comma != mask.npos;
  const bool wants_input = !knows_mask || mask.substr(0, comma).find("True") != mask.npos;
  const bool wants_weight = !knows_mask || mask.substr(comma).starts_with(", True") ||
                            mask.substr(comma).starts_with(",True");
  CostWork work{once * (uint64_t{wants_input} + uint64_t{wants_weight}), {}};
  if (wants_input) work.outputs.push_back(*input);
  if (wants_weight) work.outputs.push_back(*weight);
  return work;
}

std::optional<CostWork> pool_work(const CostInputs& inputs) {
  const Shape* input = inputs.tensor(0);
  if (input == nullptr || inputs.concrete.size() < 2) return {};
  const auto named = parse_int_list(inputs.concrete[1]);
  if (!named || named->empty() || input->size() < named->size()) return {};
  const size_t axes = named->size() == 1 ? std::min<size_t>(2, input->size()) : named->size();
  const auto window = inputs.integers(1, axes);
  auto stride = inputs.integers(2, axes);
  const auto padding = inputs.integers(3, axes);
  if (!stride) stride = window;  // not given: as large as the window
  Shape output = *input;
  for (size_t axis = 0; axis < axes; ++axis) {
    int64_t& size = output[output.size() - axes + axis];
    const auto windows =
        window_count(size, (*window)[axis], (*stride)[axis], padding ? (*padding)[axis] : 0, 1);
    if (!windows) return {};
    size = *windows;
  }
  return CostWork{count_elements(output) * count_elements(*window), {output}};
}

}  // namespace stepscope
