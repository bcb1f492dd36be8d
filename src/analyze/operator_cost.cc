#include "analyze/operator_cost.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <utility>

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

namespace {

using enum CostFormula;

constexpr auto kRules = std::to_array<CostRule>({
    // Matrices.
    {"mm", kMatmul},
    {"addmm", kMatmul, 1},
    {"_addmm_activation", kMatmul, 1},
    {"_scaled_mm", kMatmul},
    {"_int_mm", kMatmul},
    {"bmm", kBatchMatmul},
    {"baddbmm", kBatchMatmul, 1},
    {"addbmm", kBatchMatmul, 1},
    {"mv", kMatrixVector},
    {"addmv", kMatrixVector, 1},
    {"dot", kDot},
    {"vdot", kDot},
    {"mkldnn_linear", kMatmul},
    // Convolutions.
    {"conv1d", kConvolution},
    {"conv2d", kConvolution},
    {"conv3d", kConvolution},
    {"conv_transpose1d", kTransposed},
    {"conv_transpose2d", kTransposed},
    {"conv_transpose3d", kTransposed},
    {"convolution", kAnyConvolution, 0, 1, true},
    {"_convolution", kAnyConvolution, 0, 1, true},
    {"convolution_backward", kConvBackward},
    // Attention.
    {"_scaled_dot_product_flash_attention", kAttention},
    {"_scaled_dot_product_flash_attention_for_cpu", kAttention},
    {"_scaled_dot_product_efficient_attention", kAttention},
    {"_scaled_dot_product_cudnn_attention", kAttention},
    {"_scaled_dot_product_flash_attention_backward", kAttentionBack},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", kAttentionBack},
    {"_scaled_dot_product_efficient_attention_backward", kAttentionBack},
    {"_scaled_dot_product_cudnn_attention_backward", kAttentionBack},
    // Recurrent networks.
    {"mkldnn_rnn_layer", kRnnLayer},
    {"mkldnn_rnn_layer_backward", kRnnLayer, 0, 2},
    {"_cudnn_rnn", kRnnWeights},
    {"_thnn_fused_lstm_cell", kPerElement, 0, 5},
    {"_thnn_fused_gru_cell", kPerElement, 0, 5},
    // Norms: mean, variance, the difference, the quotient, scale and shift.
    {"native_batch_norm", kPerElement, 0, 5},
    {"_native_batch_norm_legit", kPerElement, 0, 5},
    {"_batch_norm_with_update", kPerElement, 0, 5},
    {"cudnn_batch_norm", kPerElement, 0, 5},
    {"native_layer_norm", kPerElement, 0, 5},
    {"native_group_norm", kPerElement, 0, 5},
    {"_fused_rms_norm", kPerElement, 0, 4},
    {"native_batch_norm_backward", kPerElement, 0, 8},
    {"batch_norm_backward", kPerElement, 0, 8},
    {"cudnn_batch_norm_backward", kPerElement, 0, 8},
    {"native_layer_norm_backward", kPerElement, 0, 8},
    {"native_group_norm_backward", kPerElement, 0, 8},
    // Softmax: largest, difference, exponential, sum, quotient.
    {"_softmax", kPerElement, 0, 5},
    {"_log_softmax", kPerElement, 0, 5},
    {"_safe_softmax", kPerElement, 0, 5},
    {"_softmax_backward_data", kPerElement, 0, 4},
    {"_log_softmax_backward_data", kPerElement, 0, 4},
    // Pooling.
    {"max_pool2d_with_indices", kPool},
    {"max_pool3d_with_indices", kPool},
    {"avg_pool2d", kPool},
    {"avg_pool3d", kPool},
    {"mkldnn_max_pool2d", kPool},
    {"mkldnn_max_pool3d", kPool},
    {"_adaptive_avg_pool2d", kPoolInput},
    {"_adaptive_avg_pool3d", kPoolInput},
    {"adaptive_max_pool2d", kPoolInput},
    {"adaptive_max_pool3d", kPoolInput},
    {"max_pool2d_with_indices_backward", kPerElement},
    {"avg_pool2d_backward", kPerElement},
    {"_adaptive_avg_pool2d_backward", kPerElement},
    {"mkldnn_max_pool2d_backward", kPerElement},
    // Elementwise. add and mul as torch counts them.
    {"add", kFirstInput},
    {"mul", kFirstInput},
    {"sub", kElementwise},
    {"rsub", kElementwise},
    {"div", kElementwise},
    {"pow", kElementwise},
    {"remainder", kElementwise},
    {"fmod", kElementwise},
    {"maximum", kElementwise},
    {"minimum", kElementwise},
    {"atan2", kElementwise},
    {"addcmul", kElementwise},
    {"addcdiv", kElementwise},
    {"lerp", kElementwise},
    {"where", kElementwise},
    {"masked_fill", kElementwise},
    {"clamp", kElementwise},
    {"clamp_min", kElementwise},
    {"clamp_max", kElementwise},
    {"eq", kElementwise},
    {"ne", kElementwise},
    {"lt", kElementwise},
    {"le", kElementwise},
    {"gt", kElementwise},
    {"ge", kElementwise},
    {"logical_and", kElementwise},
    {"logical_or", kElementwise},
    {"bitwise_and", kElementwise},
    {"bitwise_or", kElementwise},
    {"neg", kElementwise},
    {"abs", kElementwise},
    {"sign", kElementwise},
    {"exp", kElementwise},
    {"expm1", kElementwise},
    {"log", kElementwise},
    {"log1p", kElementwise},
    {"log2", kElementwise},
    {"sqrt", kElementwise},
    {"rsqrt", kElementwise},
    {"reciprocal", kElementwise},
    {"sin", kElementwise},
    {"cos", kElementwise},
    {"erf", kElementwise},
    {"floor", kElementwise},
    {"ceil", kElementwise},
    {"round", kElementwise},
    {"relu", kElementwise},
    {"threshold", kElementwise},
    {"hardtanh", kElementwise},
    {"hardswish", kElementwise},
    {"leaky_relu", kElementwise},
    {"elu", kElementwise},
    {"sigmoid", kElementwise},
    {"tanh", kElementwise},
    {"silu", kElementwise},
    {"gelu", kElementwise},
    {"mish", kElementwise},
    {"softplus", kElementwise},
    {"native_dropout", kElementwise},
    {"bernoulli", kElementwise},
    {"threshold_backward", kElementwise},
    {"hardtanh_backward", kElementwise},
    {"leaky_relu_backward", kElementwise},
    {"elu_backward", kElementwise},
    {"sigmoid_backward", kElementwise},
    {"tanh_backward", kElementwise},
    {"silu_backward", kElementwise},
    {"gelu_backward", kElementwise},
    {"native_dropout_backward", kElementwise},
    {"mse_loss_backward", kElementwise},
    {"sgn", kElementwise},
    // Reductions, and losses that are one.
    {"sum", kReduce},
    {"mean", kReduce},
    {"prod", kReduce},
    {"max", kReduce},
    {"min", kReduce},
    {"amax", kReduce},
    {"amin", kReduce},
    {"argmax", kReduce},
    {"argmin", kReduce},
    {"any", kReduce},
    {"all", kReduce},
    {"logsumexp", kReduce, 0, 3},
    {"norm", kReduce, 0, 2},
    {"linalg_vector_norm", kReduce, 0, 2},
    {"var", kReduce, 0, 4},
    {"std", kReduce, 0, 4},
    {"var_mean", kReduce, 0, 4},
    {"std_mean", kReduce, 0, 4},
    {"mse_loss", kReduce, 0, 3},
    {"l1_loss", kReduce, 0, 3},
    {"smooth_l1_loss", kReduce, 0, 4},
    {"huber_loss", kReduce, 0, 4},
    {"binary_cross_entropy", kReduce, 0, 6},
    {"binary_cross_entropy_with_logits", kReduce, 0, 6},
    {"cumsum", kPerElement},
    {"cumprod", kPerElement},
    // Optimizers.
    {"_fused_adam", kForeach, 0, 12},
    {"_fused_adamw", kForeach, 0, 14},
    {"_fused_sgd", kForeach, 0, 4},
    {"_fused_adagrad", kForeach, 0, 5},
    {"_foreach_add", kForeach},
    {"_foreach_sub", kForeach},
    {"_foreach_mul", kForeach},
    {"_foreach_div", kForeach},
    {"_foreach_sqrt", kForeach},
    {"_foreach_rsqrt", kForeach},
    {"_foreach_neg", kForeach},
    {"_foreach_pow", kForeach},
    {"_foreach_maximum", kForeach},
    {"_foreach_addcmul", kForeach, 0, 2},
    {"_foreach_addcdiv", kForeach, 0, 2},
    {"_foreach_lerp", kForeach, 0, 2},
    {"_foreach_norm", kForeach, 0, 2},
    {"_amp_foreach_non_finite_check_and_unscale", kForeach},
    // No arithmetic.
    {"embedding", kEmbedding},
    {"embedding_dense_backward", kPerElement},
    {"copy", kMove, 1},
    {"clone", kMove},
    {"index_select", kMove},
    {"gather", kMove},
    {"flip", kMove},
    {"fill", kFill},
    {"zero", kFill},
});

// One input: a tensor, the tensors of a list, or nothing of which a shape is known.
struct Input {
  std::vector<Shape> shapes;
  uint32_t element_bytes = 0;  // 0: not known, or no tensor
  bool is_tensor = false;
};

struct Inputs {
  std::vector<Input> all;
  std::vector<std::string> concrete;
  bool has_types = false;

  const Shape* tensor(size_t i) const {
    return i < all.size() && all[i].is_tensor && all[i].shapes.size() == 1 ? &all[i].shapes[0]
                                                                           : nullptr;
  }
};

uint64_t count(std::span<const int64_t> shape) {
  uint64_t elements = 1;
  for (const int64_t size : shape) elements *= static_cast<uint64_t>(size);
  return elements;
}

uint64_t count_all(const std::vector<Shape>& shapes) {
  uint64_t elements = 0;
  for (const Shape& shape : shapes) elements += count(shape);
  return elements;
}

Inputs parse_inputs(const OperatorInputTexts& texts) {
  Inputs inputs;
  std::vector<InputShapes> shapes = parse_input_shapes(texts.dims);
  const std::vector<std::string> types = parse_strings(texts.types);
  inputs.concrete = parse_strings(texts.concrete);
  inputs.has_types = !types.empty();
  for (size_t i = 0; i < shapes.size(); ++i) {
    Input& input = inputs.all.emplace_back();
    // Of a list no file says what is in it: parameters and gradients, nearly always.
    const std::string_view type = shapes[i].is_list  ? "float"
                                  : i < types.size() ? std::string_view(types[i])
                                                     : "";
    input.element_bytes = element_bytes(type);
    const bool has_sizes = shapes[i].is_list || !shapes[i].shapes[0].empty();
    input.is_tensor = inputs.has_types ? input.element_bytes > 0 : has_sizes;
    if (input.is_tensor) input.shapes = std::move(shapes[i].shapes);
  }
  return inputs;
}

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

// What a formula finds: the outputs, and operations.
struct Work {
  std::optional<uint64_t> flops;
  std::vector<Shape> outputs;
};

std::optional<Work> matmul(const Inputs& inputs, size_t first, bool is_batched) {
  const Shape* left = inputs.tensor(first);
  const Shape* right = inputs.tensor(first + 1);
  const size_t rank = is_batched ? 3 : 2;
  if (left == nullptr || right == nullptr || left->size() < 2 || right->size() != rank) return {};
  if (count(*left) == 0) return {};
  Shape output = *left;
  output.back() = right->back();
  return Work{2 * count(*left) * static_cast<uint64_t>(right->back()), {output}};
}

std::optional<Work> matrix_vector(const Inputs& inputs, size_t first) {
  const Shape* matrix = inputs.tensor(first);
  if (matrix == nullptr || matrix->size() != 2) return {};
  return Work{2 * count(*matrix), {{matrix->front()}}};
}

// A list of integers as "Concrete Inputs" has it: "[1, 1]"; one number stands for all axes.
std::optional<Shape> int_list(const Inputs& inputs, size_t i, size_t axes) {
  if (i >= inputs.concrete.size()) return std::nullopt;
  auto list = parse_int_list(inputs.concrete[i]);
  if (list && list->size() == 1) list->resize(axes, list->front());
  return list && list->size() == axes ? list : std::nullopt;
}

uint64_t group_count(const Inputs& inputs, size_t i) {
  const auto list = i < inputs.concrete.size() ? parse_int_list("[" + inputs.concrete[i] + "]")
                                               : std::optional<Shape>();
  return list && list->size() == 1 && list->front() > 0 ? static_cast<uint64_t>(list->front()) : 0;
}

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

// Where the arguments of a convolution are.
struct ConvolutionArguments {
  size_t stride = 3, padding = 4, dilation = 5, groups = 6, output_padding = 5;
};

std::optional<Work> convolution(const Inputs& inputs, const ConvolutionArguments& at) {
  const Shape* input = inputs.tensor(0);
  const Shape* weight = inputs.tensor(1);
  if (input == nullptr || weight == nullptr || weight->size() < 3) return {};
  const size_t axes = weight->size() - 2;
  const auto stride = int_list(inputs, at.stride, axes);
  const auto padding = int_list(inputs, at.padding, axes);
  const auto dilation = int_list(inputs, at.dilation, axes);
  if (!stride || !padding || !dilation || group_count(inputs, at.groups) == 0) return {};
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
  return Work{2 * count(output) * count(std::span(*weight).subspan(1)), {output}};
}

std::optional<Work> transposed_convolution(const Inputs& inputs, const ConvolutionArguments& at) {
  const Shape* input = inputs.tensor(0);
  const Shape* weight = inputs.tensor(1);  // input channels, output channels by groups, window
  if (input == nullptr || weight == nullptr || weight->size() < 3) return {};
  const size_t axes = weight->size() - 2;
  const auto stride = int_list(inputs, at.stride, axes);
  const auto padding = int_list(inputs, at.padding, axes);
  const auto output_padding = int_list(inputs, at.output_padding, axes);
  const uint64_t groups = group_count(inputs, at.groups);
  const auto dilation = int_list(inputs, at.dilation, axes);
  const bool is_batched = input->size() == weight->size();
  if (!is_batched && input->size() + 1 != weight->size()) return {};
  Work work{2 * count(*input) * count(std::span(*weight).subspan(1)), {}};
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

std::optional<Work> convolution_backward(const Inputs& inputs) {
  const Shape* gradient = inputs.tensor(0);
  const Shape* input = inputs.tensor(1);
  const Shape* weight = inputs.tensor(2);
  if (gradient == nullptr || input == nullptr || weight == nullptr || weight->size() < 3) return {};
  const bool is_transposed = inputs.concrete.size() > 7 && inputs.concrete[7] == "True";
  const uint64_t once =
      2 * count(is_transposed ? *input : *gradient) * count(std::span(*weight).subspan(1));
  // Which of input, weight and bias want a gradient: "[True, True, False]".
  const std::string mask = inputs.concrete.size() > 10 ? inputs.concrete[10] : "";
  const size_t comma = mask.find(',');
  const bool knows_mask = comma != mask.npos;
  const bool wants_input = !knows_mask || mask.substr(0, comma).find("True") != mask.npos;
  const bool wants_weight = !knows_mask || mask.substr(comma).starts_with(", True") ||
                            mask.substr(comma).starts_with(",True");
  Work work{once * (uint64_t{wants_input} + uint64_t{wants_weight}), {}};
  if (wants_input) work.outputs.push_back(*input);
  if (wants_weight) work.outputs.push_back(*weight);
  return work;
}

std::optional<Work> pool(const Inputs& inputs) {
  const Shape* input = inputs.tensor(0);
  if (input == nullptr || inputs.concrete.size() < 2) return {};
  const auto named = parse_int_list(inputs.concrete[1]);
  if (!named || named->empty() || input->size() < named->size()) return {};
  const size_t axes = named->size() == 1 ? std::min<size_t>(2, input->size()) : named->size();
  const auto window = int_list(inputs, 1, axes);
  auto stride = int_list(inputs, 2, axes);
  const auto padding = int_list(inputs, 3, axes);
  if (!stride) stride = window;  // not given: as large as the window
  Shape output = *input;
  for (size_t axis = 0; axis < axes; ++axis) {
    int64_t& size = output[output.size() - axes + axis];
    const auto windows =
        window_count(size, (*window)[axis], (*stride)[axis], padding ? (*padding)[axis] : 0, 1);
    if (!windows) return {};
    size = *windows;
  }
  return Work{count(output) * count(*window), {output}};
}

std::optional<Work> elementwise(const Inputs& inputs) {
  Shape output;
  uint64_t tensors = 0;
  for (const Input& input : inputs.all) {
    if (!input.is_tensor || input.shapes.size() != 1) continue;
    const auto wider = broadcast(output, input.shapes[0]);
    if (!wider) return {};
    output = *wider;
    ++tensors;
  }
  if (tensors == 0) return {};
  return Work{count(output) * (std::max<uint64_t>(tensors, 2) - 1), {output}};
}

// Two products of matrices forward, five backward.
std::optional<Work> attention(const Inputs& inputs, size_t first) {
  const Shape* query = inputs.tensor(first);
  const Shape* key = inputs.tensor(first + 1);
  const Shape* value = inputs.tensor(first + 2);
  if (query == nullptr || key == nullptr || value == nullptr || query->size() != 4 ||
      key->size() != 4 || value->size() != 4) {
    return {};
  }
  const uint64_t scores = count(std::span(*query).first(3)) * static_cast<uint64_t>((*key)[2]);
  const auto width = static_cast<uint64_t>(query->back());
  const auto value_width = static_cast<uint64_t>(value->back());
  if (first == 1) return Work{2 * scores * (3 * width + 2 * value_width), {*query, *key, *value}};
  Shape output = *query;
  output.back() = value->back();
  return Work{2 * scores * (width + value_width), {output}};
}

std::optional<Work> rnn(const CostRule& rule, const Inputs& inputs, bool is_list) {
  const Shape* input = inputs.tensor(0);  // time, batch, features
  if (input == nullptr || input->size() != 3) return {};
  uint64_t weights = 0;
  for (size_t i = 1; i < inputs.all.size() && i < (is_list ? 2 : 3); ++i) {
    for (const Shape& shape : inputs.all[i].shapes) {
      if (shape.size() == 2) weights += count(shape);
    }
  }
  if (weights == 0) return {};
  return Work{2 * rule.factor * count(std::span(*input).first(2)) * weights, {}};
}

std::optional<Work> embedding(const Inputs& inputs) {
  const Shape* table = inputs.tensor(0);
  const Shape* indices = inputs.tensor(1);
  if (table == nullptr || indices == nullptr || table->empty()) return {};
  Shape output = *indices;
  output.push_back(table->back());
  return Work{std::nullopt, {output}};
}

std::optional<Work> per_element(const CostRule& rule, const Inputs& inputs) {
  const Shape* input = inputs.tensor(rule.first);
  if (input == nullptr) return {};
  switch (rule.formula) {
    case kFirstInput:
    case kPerElement:
      return Work{rule.factor * count(*input), {*input}};
    case kMove:
    case kFill:
      return Work{std::nullopt, {*input}};
    default:  // kReduce, kPoolInput
      return Work{rule.factor * count(*input), {}};
  }
}

std::optional<Work> find_work(const CostRule& rule, const Inputs& inputs) {
  switch (rule.formula) {
    case kMatmul:
      return matmul(inputs, rule.first, false);
    case kBatchMatmul:
      return matmul(inputs, rule.first, true);
    case kMatrixVector:
      return matrix_vector(inputs, rule.first);
    case kDot:
      if (const Shape* input = inputs.tensor(0)) return Work{2 * count(*input), {Shape()}};
      return {};
    case kElementwise:
      return elementwise(inputs);
    case kForeach:
      if (inputs.all.empty() || inputs.all[0].shapes.empty()) return {};
      return Work{rule.factor * count_all(inputs.all[0].shapes), inputs.all[0].shapes};
    case kConvolution:
      return convolution(inputs, {});
    case kTransposed:
      return transposed_convolution(inputs, {.dilation = 7});
    case kAnyConvolution: {
      const ConvolutionArguments at{.groups = 8, .output_padding = 7};
      const bool is_transposed = inputs.concrete.size() > 6 && inputs.concrete[6] == "True";
      return is_transposed ? transposed_convolution(inputs, at) : convolution(inputs, at);
    }
    case kConvBackward:
      return convolution_backward(inputs);
    case kPool:
      return pool(inputs);
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

std::optional<uint64_t> count_bytes(const CostRule& rule, const Inputs& inputs, const Work& work) {
  if (!inputs.has_types) return std::nullopt;
  uint64_t bytes = 0;
  uint32_t output_bytes = 0;
  for (size_t i = 0; i < inputs.all.size(); ++i) {
    const Input& input = inputs.all[i];
    if (!input.is_tensor) continue;
    if (output_bytes == 0) output_bytes = input.element_bytes;
    if (rule.formula == kFill || (rule.formula == kMove && i != rule.first)) continue;
    // Of a table only what is looked up is read, and that is as much as comes out.
    const bool is_table = rule.formula == kEmbedding && i == 0;
    bytes += input.element_bytes * count_all(is_table ? work.outputs : input.shapes);
  }
  if (output_bytes == 0) return std::nullopt;
  return bytes + output_bytes * count_all(work.outputs);
}

}  // namespace

const CostRule* find_cost_rule(std::string_view operator_name) {
  constexpr std::string_view kPrefix = "aten::";
  if (!operator_name.starts_with(kPrefix)) return nullptr;
  operator_name.remove_prefix(kPrefix.size());
  if (operator_name.size() > 1 && operator_name.ends_with('_')) operator_name.remove_suffix(1);
  const auto rule = std::find_if(kRules.begin(), kRules.end(), [&](const CostRule& known) {
    return known.name == operator_name;
  });
  return rule == kRules.end() ? nullptr : &*rule;
}

bool is_counted_within(const CostRule& rule) { return !rule.is_inner; }

OperatorCost count_cost(const CostRule& rule, const OperatorInputTexts& texts) {
  const Inputs inputs = parse_inputs(texts);
  OperatorCost cost;
  for (const Input& input : inputs.all) {
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

uint32_t element_bytes(std::string_view type) {
  struct Size {
    std::string_view name;
    uint32_t bytes;
  };
  static constexpr auto kSizes = std::to_array<Size>({
      {"float", 4},
      {"double", 8},
      {"c10::Half", 2},
      {"c10::BFloat16", 2},
      {"long int", 8},
      {"long", 8},
      {"int", 4},
      {"short int", 2},
      {"short", 2},
      {"signed char", 1},
      {"unsigned char", 1},
      {"bool", 1},
      {"c10::complex<float>", 8},
      {"c10::complex<double>", 16},
      {"c10::complex<c10::Half>", 4},
      {"c10::Float8_e4m3fn", 1},
      {"c10::Float8_e5m2", 1},
  });
  const auto size = std::find_if(kSizes.begin(), kSizes.end(),
                                 [&](const Size& known) { return known.name == type; });
  return size == kSizes.end() ? 0 : size->bytes;
}

}  // namespace stepscope
