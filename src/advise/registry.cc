// The list of rules.
#include "advise/rules.h"

#include "advise/job_rules.h"

namespace stepscope {
namespace {

constexpr Rule kHostRules[] = {
    check_blocking_io_in_step, check_dispatch_bound, check_for_loop_indexing,
    check_garbage_collection,  check_python_hotspot, check_tensor_from_python_list,
};

constexpr Rule kRules[] = {
    // Input
    check_dataloader_in_process,
    check_dataloader_slow_collate,
    check_dataloader_too_few_workers,
    check_dataloader_worker_restart,
    check_dataset_slow_item,
    check_input_copy,
    check_tf_data_cache,
    check_tf_data_intra_op_parallelism,
    check_tf_data_prefetch,
    check_tf_data_slow_transformation,
    check_tf_data_slow_map,
    check_tf_data_slow_source,
    // Threads
    check_thread_oversubscription,
    check_too_few_threads,
    // PyTorch
    check_conv_bias_before_batchnorm,
    check_duplicate_forward,
    check_fp64_compute,
    check_grad_not_none,
    check_missing_no_grad,
    check_redundant_copy,
    check_single_tensor_optimizer,
    // Devices, memory, the profiler
    check_communication_bound,
    check_concurrent_profilers,
    check_data_parallel,
    check_ddp_without_nccl,
    check_full_precision_matmul,
    check_gpu_idle,
    check_host_sync,
    check_launch_bound,
    check_low_occupancy,
    check_memcpy_bound,
    check_memory_growth,
    check_memory_near_limit,
    check_poor_overlap,
    check_profiler_overhead,
    check_unaligned_matmul,
};

constexpr Rule kRulesOfSamples[] = {
    check_blocking_io_in_step,
    check_concurrent_profilers,
    check_dataloader_in_process,
    check_dataloader_slow_collate,
    check_dataloader_too_few_workers,
    check_dataloader_worker_restart,
    check_dataset_slow_item,
    check_garbage_collection,
    check_python_hotspot,
    check_thread_oversubscription,
};

}  // namespace

std::span<const Rule> host_rules() { return kHostRules; }
std::span<const Rule> rules() { return kRules; }
std::span<const Rule> rules_of_samples() { return kRulesOfSamples; }

Severity severity_of(double at_stake_fraction) {
  if (at_stake_fraction >= kCriticalAtStake) return Severity::kCritical;
  return at_stake_fraction >= kWarningAtStake ? Severity::kWarning : Severity::kInfo;
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kCritical:
      return "critical";
  }
  return "";
}

}  // namespace stepscope
