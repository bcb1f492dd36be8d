#include "analyze/operator_cost.h"

#include <algorithm>
#include <span>
#include <utility>

#include "analyze/cost_inputs.h"
#include "analyze/cost_rules.h"
#include "analyze/cost_windows.h"

namespace stepscope {
namespace {

using enum CostFormula;

// As numpy and torch do it. Nothing where the sizes do not fit.
std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = result[result.size() - 1 - i];
    const int64_t other = shorter[shorter.size() - 1 - i];
    if (size == other || other == 1) continue;
    if (size != 1) return std::nullopt;
    size = other;
  }
  return result;
}

std::optional<CostWork> matmul(const CostInputs& inputs, size_t first, bool is_batched) {
  const Shape* left = inputs.tensor(first);
  const Shape* right = inputs.tensor(first + 1);
  const size_t rank = is_batched ? 3 : 2;
  if (left == nullptr || right == nullptr || left->size() < 2 || right->size() != rank) return {};
  if (count_elements(*left) == 0) return {};
  Shape output = *left;
  output.back() = right->back();
  return CostWork{2 * count_elements(*left) * static_cast<uint64_t>(right->back()), {output}};
}

std::optional<CostWork> matrix_vector(const CostInputs& inputs, size_t first) {
  const Shape* matrix = inputs.tensor(first);
  if (matrix == nullptr || matrix->size() != 2) return {};
  return CostWork{2 * count_elements(*matrix), {{matrix->front()}}};
}

std::optional<CostWork> elementwise(const CostInputs& inputs) {
  Shape output;
  uint64_t tensors = 0;
  for (const CostInput& input : inputs.all) {
    if (!input.is_tensor || input.shapes.size() != 1) continue;
    const auto wider = broadcast(output, input.shapes[0]);
    if (!wider) return {};
    output = *wider;
    ++tensors;
  }
  if (tensors == 0) return {};
  return CostWork{count_elements(output) * (std::max<uint64_t>(tensors, 2) - 1), {output}};
}

// Two products of matrices forward, five backward.
std::optional<CostWork> attention(const CostInputs& inputs, size_t first) {
  const Shape* query = inputs.tensor(first);
  const Shape* key = inputs.tensor(first + 1);
  const Shape* value = inputs.tensor(first + 2);
  if (query == nullptr || key == nullptr || value == nullptr || query->size() != 4 ||
      key->size() != 4 || value->size() != 4) {
    return {};
  }
  const uint64_t scores =
      count_elements(std::span(*query).first(3)) * static_cast<uint64_t>((*key)[2]);
  const auto width = static_cast<uint64_t>(query->back());
  const auto value_width = static_cast<uint64_t>(value->back());
  if (first == 1)
    return CostWork{2 * scores * (3 * width + 2 * value_width), {*query, *key, *value}};
  Shape output = *query;
  output.back() = value->back();
  return CostWork{2 * scores * (width + value_width), {output}};
}

std::optional<CostWork> rnn(const CostRule& rule, const CostInputs& inputs, bool is_list) {
  const Shape* input = inputs.tensor(0);  // time, batch, features
  if (input == nullptr || input->size() != 3) return {};
  uint64_t weights = 0;
  for (size_t i = 1; i < inputs.all.size() && i < (is_list ? 2 : 3); ++i) {
    for (const Shape& shape : inputs.all[i].shapes) {
      if (shape.size() == 2) weights += count_elements(shape);
    }
  }
  if (weights == 0) return {};
  return CostWork{2 * rule.factor * count_elements(std::span(*input).first(2)) * weights, {}};
}

std::optional<CostWork> embedding(const CostInputs& inputs) {
  const Shape* table = inputs.tensor(0);
  const Shape* indices = inputs.tensor(1);
  if (table == nullptr || indices == nullptr || table->empty()) return {};
  Shape output = *indices;
  output.push_back(table->back());
  return CostWork{std::nullopt, {output}};
}

std::optional<CostWork> per_element(const CostRule& rule, const CostInputs& inputs) {
  const Shape* input = inputs.tensor(rule.first);
  if (input == nullptr) return {};
  switch (rule.formula) {
    case kFirstInput:
    case kPerElement:
      return CostWork{rule.factor * count_elements(*input), {*input}};
    case kMove:
    case kFill:
      return CostWork{std::nullopt, {*input}};
    default:  // kReduce, kPoolInput
      return CostWork{rule.factor * count_elements(*input), {}};
  }
}

std::optional<CostWork> find_work(const CostRule& rule, const CostInputs& inputs) {
  switch (rule.formula) {
    case kMatmul:
      return matmul(inputs, rule.first, false);
    case kBatchMatmul:
      return matmul(inputs, rule.first, true);
    case kMatrixVector:
      return matrix_vector(inputs, rule.first);
    case kDot:
      if (const Shape* input = inputs.tensor(0))
        return CostWork{2 * count_elements(*input), {Shape()}};
      return {};
    case kElementwise:
      return elementwise(inputs);
    case kForeach:
      if (inputs.all.empty() || inputs.all[0].shapes.empty()) return {};
      return CostWork{rule.factor * count_elements(inputs.all[0].shapes), inputs.all[0].shapes};
    case kConvolution:
      return convolution_work(inputs, {});
    case kTransposed:
      return transposed_convolution_work(inputs, {.dilation = 7});
    case kAnyConvolution: {
      const ConvolutionArguments at{.groups = 8, .output_padding = 7};
      const bool is_transposed = inputs.is_true(6);
      return is_transposed ? transposed_convolution_work(inputs, at) : convolution_work(inputs, at);
    }
    case kConvBackward:
      return convolution_backward_work(inputs);
    case kPool:
      return pool_work(inputs);
    case kEmbedding:
      return embedding(inputs);
    case kAttention:
      return attention(inputs, 0);
    case kAttentionBack:
      return attention(inputs, 1);
    case kRnnLayer:
      return rnn(rule, inputs, false);
    case kRnnWeights:
      return rnn(rule, inputs, true);
    case kFirstInput:
    case kReduce:
    case kPerElement:
    case kMove:
    case kFill:
    case kPoolInput:
      return per_element(rule, inputs);
  }
  return {};
}

std::optional<uint64_t> count_bytes(const CostRule& rule, const CostInputs& inputs,
                                    const CostWork& work) {
  if (!inputs.has_types) return std::nullopt;
  uint64_t bytes = 0;
  uint32_t output_bytes = 0;
  for (size_t i = 0; i < inputs.all.size(); ++i) {
    const CostInput& input = inputs.all[i];
    if (!input.is_tensor) continue;
    if (output_bytes == 0) output_bytes = input.element_bytes;
    if (rule.formula == kFill || (rule.formula == kMove && i != rule.first)) continue;
    // Of a table only what is looked up is read, and that is as much as comes out.
    const bool is_table = rule.formula == kEmbedding && i == 0;
    bytes += input.element_bytes * count_elements(is_table ? work.outputs : input.shapes);
  }
  if (output_bytes == 0) return std::nullopt;
  return bytes + output_bytes * count_elements(work.outputs);
}

}  // namespace

OperatorCost count_cost(const CostRule& rule, const OperatorInputTexts& texts) {
  const CostInputs inputs = CostInputs::parse(texts);
  OperatorCost cost;
  for (const CostInput& input : inputs.all) {
    if (!input.is_tensor) continue;
    cost.inputs.insert(cost.inputs.end(), input.shapes.begin(), input.shapes.end());
  }
  auto work = find_work(rule, inputs);
  if (!work) return cost;
  cost.flops = work->flops;
  cost.bytes = count_bytes(rule, inputs, *work);
  cost.outputs = std::move(work->outputs);
  return cost;
}

}  // namespace stepscope
