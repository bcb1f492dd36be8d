#include "analyze/operator_rules.h"

#include <algorithm>
#include <array>

#include "trace/torch_scopes.h"

namespace stepscope {
namespace {

using std::string_view;

constexpr std::array<string_view, 6> kBookkeepingOperators = {
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
};

constexpr std::array<string_view, 18> kTensorCoreKernels = {
    "h884",
    "s884",
    "h1688",
    "s1688",
    "hmma",
    "i8816",
    "16816",
    "dgrad_1x1_stride_2x2",
    "first_layer_wgrad_kernel",
    "conv1x1",
    "conv2d_c1_k1",
    "direct_group",
    "xmma_implicit_gemm",
    "xmma_sparse_conv",
    "xmma_warp_specialized_implicit_gemm",
    "xmma_gemm",
    "xmma_sparse_gemm",
    "c1688",
};

constexpr std::array<string_view, 45> kEligibleOperators = {
    "aten::_convolution",
    "aten::conv1d",
    "aten::conv2d",
    "aten::conv3d",
    "aten::conv_tbc",
    "aten::conv_transpose1d",
    "aten::conv_transpose2d",
    "aten::conv_transpose3d",
    "aten::convolution",
    "aten::cudnn_convolution",
    "aten::cudnn_convolution_transpose",
    "aten::prelu",
    "aten::addmm",
    "aten::addmv",
    "aten::addr",
    "aten::matmul",
    "aten::mm",
    "aten::mv",
    "aten::linear",
    "aten::addbmm",
    "aten::baddbmm",
    "aten::bmm",
    "aten::chain_matmul",
    "aten::linalg_multi_dot",
    "aten::_thnn_fused_lstm_cell",
    "aten::_thnn_fused_gru_cell",
    "aten::lstm_cell",
    "aten::gru_cell",
    "aten::rnn_tanh_cell",
    "aten::rnn_relu_cell",
    // Backward operators that launch kernels of the ones above.
    "CudnnConvolutionBackward",
    "BmmBackward0",
    "aten::cudnn_convolution_transpose_backward",
    "CudnnConvolutionTransposeBackward",
    "MmBackward",
    "aten::cudnn_convolution_backward_weight",
    "aten::addmm_",
    "AddmvBackward",
    "MvBackward",
    "aten::cudnn_convolution_transpose_backward_weight",
    "aten::cudnn_convolution_transpose_backward_input",
    "AddmmBackward",
    "aten::cudnn_convolution_backward_input",
    "AddbmmBackward",
    "aten::cudnn_convolution_backward",
};

// Parts of names of kernels that move data between devices: NCCL's within a template or behind a
// "void ", torch's symmetric memory, vLLM's own, NVSHMEM's.
constexpr std::array<string_view, 6> kCommunicationKernels = {
    "ncclKernel",      "ncclDevKernel",       "cross_device_reduce",
    "shot_all_reduce", "multimem_all_reduce", "nvshmem",
};
// Begins of such names: NCCL's and RCCL's, MTIA's, oneCCL's (allreduce_large_impl<...>), and XLA's
// operations on a TPU (all-reduce.4, all-gather-start).
constexpr std::array<string_view, 14> kCommunicationBegins = {
    "nccl",
    "rccl",
    "hccl",
    "oneccl_",
    "allreduce_",
    "allgatherv_",
    "reduce_scatter_",
    "alltoall_",
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-",
};

template <size_t N>
bool contains(const std::array<string_view, N>& list, string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

OperatorRules::OperatorRules(const StringPool& strings, const LabelTable& labels, bool is_recording)
    : is_recording_(is_recording) {
  bool old_names = false;
  bool new_names = false;
  for (const Label& label : labels.all()) {
    const string_view category = strings.view(label.category);
    old_names |= category == "Operator";
    new_names |= category == "cpu_op" || category == "user_annotation";
    has_operators_ |= label.kind == SliceKind::kOperator;
    // Only our tracer calls anything so, and the readers of XPlane files.
    is_recording_ |= category == "nn_module" || category == "phase" || category == "tf_op" ||
                     category == "xla_op";
  }
  is_legacy_ = old_names && !new_names;
  entries_.reserve(labels.size());
  for (const Label& label : labels.all()) entries_.push_back(make_entry(strings, label));
}

OperatorRules::Entry OperatorRules::make_entry(const StringPool& strings, const Label& label) {
  const string_view name = strings.view(label.name);
  Entry entry;
  entry.row_name = label.name;
  entry.eligible = contains(kEligibleOperators, name);
  switch (label.kind) {
    case SliceKind::kOperator:
      if (is_legacy_) {
        const bool scope = is_step_name(name) || is_input_scope(name) ||
                           name.starts_with("Optimizer.") || name == "DataParallel.forward" ||
                           name == "DistributedDataParallel.forward";
        entry.role = scope ? HostRole::kScope : HostRole::kOperator;
      } else {
        entry.role = contains(kBookkeepingOperators, name) ? HostRole::kNone : HostRole::kOperator;
      }
      break;
    case SliceKind::kStep:
    case SliceKind::kAnnotation:
      if (is_recording_ && strings.view(label.category) != "user_annotation") break;
      entry.role = is_legacy_ ? HostRole::kScope : HostRole::kOperator;
      entry.annotation = true;
      break;
    case SliceKind::kRuntime:
      entry.role = is_legacy_ ? HostRole::kHiddenRuntime : HostRole::kRuntime;
      break;
    case SliceKind::kPython:
      // Our own recordings have a view of functions; a trace of Python alone has no operators.
      if (is_recording_) break;
      [[fallthrough]];
    case SliceKind::kOverhead:
      if (!is_legacy_ && has_operators_) entry.role = HostRole::kPython;
      break;
    default:
      break;
  }
  if (is_step_name(name)) {
    if (first_step_ == kEmptyString) first_step_ = label.name;
    entry.row_name = first_step_;
  }
  return entry;
}

bool is_step_name(string_view name) { return name.starts_with("ProfilerStep#"); }

bool is_communication_scope(string_view name) {
  const size_t colon = name.find(':');
  if (colon == name.npos || colon + 1 == name.size() || name[colon + 1] == ':') return false;
  const string_view backend = name.substr(0, colon);
  if (backend == "gloo" || backend == "mpi" || backend == "ucc") return true;
  const bool is_a_word =
      std::all_of(backend.begin(), backend.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return is_a_word && (backend.ends_with("ccl") || backend == "cncl");
}

bool is_communication_kernel(string_view name) {
  if (std::any_of(kCommunicationBegins.begin(), kCommunicationBegins.end(),
                  [&](string_view begin) { return name.starts_with(begin); })) {
    return true;
  }
  return std::any_of(kCommunicationKernels.begin(), kCommunicationKernels.end(),
                     [&](string_view part) { return name.find(part) != name.npos; });
}

bool uses_tensor_cores(string_view kernel_name) {
  return std::any_of(kTensorCoreKernels.begin(), kTensorCoreKernels.end(),
                     [&](string_view part) { return kernel_name.find(part) != kernel_name.npos; });
}

}  // namespace stepscope
