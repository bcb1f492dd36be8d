// The operators of a generated trace, with the operators they call and their backward nodes,
// spelled as PyTorch 2.x spells them. model.h draws from these lists.
#pragma once

#include <string_view>

namespace stepscope::bench {

// What a launch of a kernel family looks like; the letter after '!' in an operator's text.
enum class Family : char {
  kNone = 0,
  kElementwise = 'e',
  kReduce = 'r',
  kGemm = 'g',
  kConvolution = 'c',
  kNorm = 'n',
  kSoftmax = 's',
  kAttention = 'a',
  kIndex = 'i',
  kForeach = 'f',
  kNccl = 'l',
  kCopyToDevice = 'd',
  kCopyOnDevice = 'm',
  kCopyToHost = 'h',
  kMemset = 'z',
};

// One layer of a model: operators as `name!family(child,child)`, and its backward node, if any.
struct LayerText {
  std::string_view forward;
  std::string_view backward_name;
  std::string_view backward_children;
  bool has_weight = false;
};

#define STEPSCOPE_T "aten::t(aten::transpose(aten::as_strided))"

// Most frequent first: layers are drawn from this list by Zipf's law.
inline constexpr LayerText kLayers[] = {
    {"aten::linear(" STEPSCOPE_T ",aten::addmm!g)", "AddmmBackward0",
     STEPSCOPE_T ",aten::mm!g," STEPSCOPE_T ",aten::mm!g," STEPSCOPE_T
                 ",aten::sum!r(aten::as_strided),aten::view",
     true},
    {"aten::add!e", "AddBackward0", "", false},
    {"aten::layer_norm(aten::native_layer_norm!n(aten::empty,aten::empty,aten::empty))",
     "NativeLayerNormBackward0", "aten::native_layer_norm_backward!n(aten::empty,aten::empty)",
     true},
    {"aten::dropout(aten::native_dropout!e(aten::empty_like(aten::empty_strided)))",
     "NativeDropoutBackward0", "aten::native_dropout_backward!e(aten::mul!e)", false},
    {"aten::to(aten::_to_copy(aten::empty_strided,aten::copy_!m))", "ToCopyBackward0",
     "aten::to(aten::_to_copy(aten::empty_strided,aten::copy_!m))", false},
    {"aten::matmul(aten::expand(aten::as_strided),aten::reshape(aten::view),aten::bmm!g,"
     "aten::_unsafe_view)",
     "BmmBackward0",
     "aten::transpose(aten::as_strided),aten::bmm!g,aten::transpose(aten::as_strided),aten::bmm!g",
     false},
    {"aten::gelu!e", "GeluBackward0", "aten::gelu_backward!e(aten::empty)", false},
    {"aten::conv2d(aten::convolution(aten::_convolution(aten::cudnn_convolution!c(aten::empty),"
     "aten::reshape(aten::view),aten::add_!e)))",
     "ConvolutionBackward0",
     "aten::convolution_backward(aten::cudnn_convolution_backward!c(aten::empty),"
     "aten::cudnn_convolution_backward_weight!c,aten::sum!r(aten::as_strided))",
     true},
    {"aten::batch_norm(aten::_batch_norm_impl_index(aten::cudnn_batch_norm!n(aten::empty,aten::"
     "view,"
     "aten::empty_like(aten::empty_strided))))",
     "CudnnBatchNormBackward0", "aten::cudnn_batch_norm_backward!n(aten::empty,aten::empty)", true},
    {"aten::relu(aten::clamp_min!e)", "ReluBackward0", "aten::threshold_backward!e", false},
    {"aten::softmax(aten::_softmax!s)", "SoftmaxBackward0", "aten::_softmax_backward_data!s",
     false},
    {"aten::scaled_dot_product_attention(aten::_scaled_dot_product_flash_attention("
     "aten::transpose(aten::as_strided),aten::transpose(aten::as_strided),"
     "aten::_flash_attention_forward!a(aten::empty_like(aten::empty_strided),aten::empty)))",
     "ScaledDotProductFlashAttentionBackward0",
     "aten::_scaled_dot_product_flash_attention_backward(aten::transpose(aten::as_strided),"
     "aten::_flash_attention_backward!a(aten::empty_like(aten::empty_strided),aten::zeros("
     "aten::empty,aten::zero_!z)))",
     false},
    {"aten::mul!e", "MulBackward0", "aten::mul!e,aten::sum!r(aten::as_strided)", false},
    {"aten::view", "ViewBackward0", "aten::reshape(aten::view)", false},
    {"aten::permute(aten::as_strided)", "PermuteBackward0", "aten::permute(aten::as_strided)",
     false},
    {"aten::contiguous(aten::clone(aten::empty_like(aten::empty_strided),aten::copy_!m))",
     "CloneBackward0", "", false},
    {"aten::embedding(aten::reshape(aten::view),aten::index_select!i(aten::empty,aten::resize_))",
     "EmbeddingBackward0",
     "aten::embedding_backward(aten::embedding_dense_backward!i(aten::empty,aten::zero_!z))", true},
    {"aten::cat!i(aten::narrow(aten::slice(aten::as_strided)))", "CatBackward0",
     "aten::narrow(aten::slice(aten::as_strided)),aten::narrow(aten::slice(aten::as_strided))",
     false},
    {"aten::split(aten::narrow(aten::slice(aten::as_strided)),aten::narrow(aten::slice("
     "aten::as_strided)))",
     "SplitBackward0", "aten::cat!i", false},
    {"aten::max_pool2d(aten::max_pool2d_with_indices!i(aten::empty))",
     "MaxPool2DWithIndicesBackward0", "aten::max_pool2d_with_indices_backward!i(aten::zero_!z)",
     false},
    {"aten::index!i(aten::empty)", "IndexBackward0",
     "aten::new_zeros(aten::new_empty(aten::empty),aten::zero_!z),aten::_index_put_impl_!i", false},
    {"aten::where(aten::expand(aten::as_strided),aten::_s_where!e)", "WhereBackward0",
     "aten::zeros(aten::empty,aten::zero_!z),aten::where!e", false},
    {"aten::cross_entropy_loss(aten::log_softmax(aten::_log_softmax!s),aten::nll_loss_nd("
     "aten::nll_loss(aten::nll_loss_forward!i)))",
     "LogSoftmaxBackward0", "aten::_log_softmax_backward_data!s(aten::empty)", false},
    {"aten::adaptive_avg_pool2d(aten::mean!r)", "MeanBackward1",
     "aten::expand(aten::as_strided),aten::div!e", false},
};

#undef STEPSCOPE_T

// Element-wise operators that come as `aten::<name>` with `<Name>Backward0`.
inline constexpr std::string_view kPlainOps[] = {
    "sub",      "div",        "neg",        "exp",        "log",     "sqrt",      "rsqrt",
    "pow",      "tanh",       "sigmoid",    "silu",       "abs",     "clamp",     "maximum",
    "minimum",  "sin",        "cos",        "erf",        "log1p",   "expm1",     "floor",
    "round",    "sign",       "reciprocal", "lerp",       "addcmul", "addcdiv",   "masked_fill",
    "softplus", "elu",        "hardtanh",   "leaky_relu", "mish",    "logit",     "atan2",
    "fmod",     "remainder",  "hypot",      "cumsum",     "flip",    "roll",      "tril",
    "triu",     "gather",     "scatter",    "repeat",     "stack",   "unbind",    "logsumexp",
    "norm",     "var",        "std",        "prod",       "amax",    "amin",      "topk",
    "sort",     "nan_to_num", "glu",        "hardswish",  "rot90",   "index_add", "outer",
    "baddbmm",
};

inline constexpr std::string_view kOptimizerOps[] = {
    "aten::_foreach_add_!f",
    "aten::_foreach_mul_!f",
    "aten::_foreach_lerp_!f",
    "aten::_foreach_addcmul_!f",
    "aten::_foreach_sqrt!f(aten::empty_strided)",
    "aten::_foreach_div_!f",
    "aten::_foreach_addcdiv_!f",
};

}  // namespace stepscope::bench
