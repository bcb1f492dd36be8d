// Names of kernels as PyTorch 2.x on an A100 spells them: long, templated, alike at the beginning.
#pragma once

#include "operators.h"

#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace stepscope::bench {

// Kernel names of a family, most frequent first.
inline std::vector<std::string> build_kernel_names(Family family) {
  using std::string;
  static constexpr std::array kTypes = {"c10::BFloat16", "float", "c10::Half"};
  const string anonymous = "at::native::(anonymous namespace)::";
  std::vector<string> names;
  auto call = [&](const string& kernel, const string& arguments) {
    names.push_back("void " + kernel + "(" + arguments + ")");
  };
  switch (family) {
    case Family::kElementwise:
      for (const string functor :
           {"CUDAFunctor_add<T>",
            "BinaryFunctor<T, T, T, at::native::binary_internal::MulFunctor<T> >",
            "AUnaryFunctor<T, T, T, at::native::binary_internal::MulFunctor<T> >", "FillFunctor<T>",
            "GeluCUDAKernelImpl(at::TensorIteratorBase&, "
            "at::native::GeluType)::{lambda()#2}::operator()"
            "() const::{lambda()#4}::operator()() const::{lambda(T)#1}",
            "(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, "
            "c10::Scalar, at::native::detail::ClampLimits)::{lambda()#1}::operator()() const::"
            "{lambda()#7}::operator()() const::{lambda(T)#1}",
            "neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() "
            "const::{lambda()#7}::"
            "operator()() const::{lambda(T)#1}",
            "sigmoid_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::"
            "{lambda()#2}::operator()() const::{lambda(T)#1}",
            "bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(T)#1}",
            "(anonymous namespace)::masked_fill_kernel_impl<T>(at::TensorIterator&, c10::Scalar)::"
            "{lambda(T, bool)#1}",
            "BUnaryFunctor<T, T, T, at::native::binary_internal::DivFunctor<T> >",
            "(anonymous namespace)::pow_tensor_scalar_kernel_impl<T, T>(at::TensorIteratorBase&, "
            "T)::"
            "{lambda(T)#2}"}) {
        for (const string type : kTypes) {
          string f = "at::native::" + functor;
          for (size_t at = 0; (at = f.find('T', at)) != string::npos;) {
            // A lone T is the type; the T of TensorIterator is not.
            const bool alone =
                at + 1 == f.size() || !std::isalnum(static_cast<unsigned char>(f[at + 1]));
            const bool starts = !std::isalnum(static_cast<unsigned char>(f[at - 1]));
            if (alone && starts) f.replace(at, 1, type);
            at += alone && starts ? type.size() : 1;
          }
          const string array =
              functor.find("Binary") == 0 ? "std::array<char*, 3ul>" : "std::array<char*, 2ul>";
          call("at::native::vectorized_elementwise_kernel<4, " + f + ", " + array + " >",
               "int, " + f + ", " + array);
        }
      }
      break;
    case Family::kReduce:
      for (const string type : kTypes) {
        for (const string shape : {"512, 1", "128, 4", "256, 2"}) {
          const string op =
              "at::native::ReduceOp<" + type + ", at::native::func_wrapper_t<" + type +
              ", at::native::sum_functor<" + type + ", float, " + type +
              ">::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned "
              "int, " +
              type + ", 4, 4>";
          call("at::native::reduce_kernel<" + shape + ", " + op + " >", op);
        }
      }
      break;
    case Family::kGemm:
      for (const string tile : {"128x256_32x3", "128x128_32x5", "64x64_32x6", "256x128_64x3"}) {
        for (const string layout : {"tn", "nn", "nt"}) {
          const string gemm =
              "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_" + tile + "_" + layout + "_align8";
          names.push_back("ampere_bf16_s16816gemm_bf16_" + tile.substr(0, tile.find('_')) +
                          "_ldg8_f2f_stages_" + tile.substr(tile.find('_') + 1) + "_" + layout);
          call("cutlass::Kernel2<" + gemm + ">", gemm + "::Params");
        }
      }
      call(
          "cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, "
          "true, true, false>",
          "cublasLt::cublasSplitKParams<float>, float const*, __nv_bfloat16 const*, "
          "__nv_bfloat16*, "
          "float const*, float const*, __nv_bfloat16 const*, float const*, __nv_bfloat16*, void*, "
          "long, float*, int*");
      break;
    case Family::kConvolution:
      for (const string pass : {"fprop", "dgrad", "wgrad"}) {
        for (const string tile : {"128x128x16_stage4", "64x128x32_stage5", "256x64x32_stage3"}) {
          names.push_back("sm80_xmma_" + pass +
                          "_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize" +
                          tile + "_warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn");
        }
      }
      break;
    case Family::kNorm:
      call(anonymous + "vectorized_layer_norm_kernel<c10::BFloat16, float>",
           "int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, "
           "float*, c10::BFloat16*");
      call(anonymous + "layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>",
           "c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 "
           "const*, c10::BFloat16*, int");
      call(anonymous + "GammaBetaBackwardCUDAKernel_32x32<c10::BFloat16, float>",
           "long, long, c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, "
           "c10::BFloat16*, c10::BFloat16*");
      call("cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>",
           "cudnnTensorStruct, float const*, cudnnTensorStruct, float*, float const*, float "
           "const*, float, "
           "float, float*, float*, float*, float*, float, float");
      break;
    case Family::kSoftmax:
      for (const string size : {"10", "11", "9"}) {
        call("(anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, " +
                 size + ", false, false>",
             "c10::BFloat16*, c10::BFloat16 const*, int, int, int, bool const*, int, bool");
        call("(anonymous namespace)::softmax_warp_backward<float, float, float, " + size +
                 ", true, false>",
             "float*, float const*, float const*, int, int, int, bool const*");
      }
      break;
    case Family::kAttention:
      for (const string size : {"128, 128, 64, 4", "64, 128, 128, 4"}) {
        const string traits =
            "Flash_fwd_kernel_traits<" + size +
            ", false, false, cutlass::bfloat16_t, Flash_kernel_traits<" + size +
            ", cutlass::bfloat16_t> >, false, true, false, false, false, true, false, false";
        call("pytorch_flash::flash_fwd_kernel<" + traits + ">", "pytorch_flash::Flash_fwd_params");
        call("pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<" + traits + ">",
             "pytorch_flash::Flash_bwd_params");
      }
      break;
    case Family::kIndex:
      for (const string bytes : {"2", "4", "8"}) {
        const string type = anonymous + "OpaqueType<" + bytes + "u>";
        call(anonymous + "CatArrayBatchedCopy_aligned16_contig<" + type +
                 ", unsigned int, 3, 128, 1>",
             type + "*, " + anonymous + "CatArrInputTensorMetadata<" + type +
                 ", unsigned int, 128, 1>, " + anonymous +
                 "TensorSizeStride<unsigned int, 4u>, int, unsigned int");
      }
      for (const string type : kTypes) {
        call(anonymous + "indexSelectLargeIndex<" + type + ", long, unsigned int, 2, 2, -2, true>",
             "at::cuda::detail::TensorInfo<" + type +
                 ", unsigned int>, at::cuda::detail::TensorInfo<" + type +
                 " const, unsigned int>, at::cuda::detail::TensorInfo<long const, unsigned int>, "
                 "int, int, "
                 "unsigned int, unsigned int, long");
        call("at::native::" + string("indexing_backward_kernel_stride_1<") + type + ", 4>",
             "long const*, long const*, " + type + " const*, " + type +
                 "*, long, long, long, long, bool");
      }
      break;
    case Family::kForeach:
      for (const string op : {"std::plus<float>", "std::multiplies<float>",
                              "at::native::Sqrt<float>", "std::divides<float>"}) {
        for (const string depth : {"2", "1", "3", "4"}) {
          const string list = anonymous + "TensorListMetadata<" + depth + ">, " + anonymous +
                              "BinaryOpScalarFunctor<float, " + depth + ", 1, 0>, " + op +
                              ", float";
          call(anonymous + "multi_tensor_apply_kernel<" + list + ">", list);
        }
      }
      break;
    case Family::kNccl:
      names = {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"};
      break;
    case Family::kCopyToDevice:
      names = {"Memcpy HtoD (Pinned -> Device)"};
      break;
    case Family::kCopyOnDevice:
      names = {"Memcpy DtoD (Device -> Device)"};
      break;
    case Family::kCopyToHost:
      names = {"Memcpy DtoH (Device -> Pageable)"};
      break;
    case Family::kMemset:
      names = {"Memset (Device)"};
      break;
    case Family::kNone:
      break;
  }
  return names;
}

}  // namespace stepscope::bench
