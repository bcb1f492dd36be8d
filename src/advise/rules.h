// The rules: each a function from a case to the findings it gives, one per file in rules/, listed
// in registry.cc. docs/findings.md documents each id.
#pragma once

#include <span>

#include "advise/case.h"
#include "advise/finding.h"

namespace stepscope {

// Less than this share of the step's time is not worth a word; more is a warning.
inline constexpr double kLeastAtStake = 0.02;
inline constexpr double kWarningAtStake = 0.05;
inline constexpr double kCriticalAtStake = 0.3;
Severity severity_of(double at_stake_fraction);

using Rule = void (*)(const Case& c, Findings& found);

// Append to `found`. Input:
void check_dataloader_in_process(const Case& c, Findings& found);
void check_dataloader_slow_collate(const Case& c, Findings& found);
void check_dataloader_too_few_workers(const Case& c, Findings& found);
void check_dataloader_worker_restart(const Case& c, Findings& found);
void check_dataset_slow_item(const Case& c, Findings& found);
void check_input_copy(const Case& c, Findings& found);
void check_tf_data_cache(const Case& c, Findings& found);
void check_tf_data_intra_op_parallelism(const Case& c, Findings& found);
void check_tf_data_prefetch(const Case& c, Findings& found);
void check_tf_data_slow_transformation(const Case& c, Findings& found);
void check_tf_data_slow_map(const Case& c, Findings& found);
void check_tf_data_slow_source(const Case& c, Findings& found);
// Host:
void check_blocking_io_in_step(const Case& c, Findings& found);
void check_dispatch_bound(const Case& c, Findings& found);
void check_for_loop_indexing(const Case& c, Findings& found);
void check_garbage_collection(const Case& c, Findings& found);
void check_python_hotspot(const Case& c, Findings& found);
void check_tensor_from_python_list(const Case& c, Findings& found);
// Threads:
void check_thread_oversubscription(const Case& c, Findings& found);
void check_too_few_threads(const Case& c, Findings& found);
// PyTorch:
void check_conv_bias_before_batchnorm(const Case& c, Findings& found);
void check_duplicate_forward(const Case& c, Findings& found);
void check_fp64_compute(const Case& c, Findings& found);
void check_grad_not_none(const Case& c, Findings& found);
void check_missing_no_grad(const Case& c, Findings& found);
void check_redundant_copy(const Case& c, Findings& found);
void check_single_tensor_optimizer(const Case& c, Findings& found);
// Devices, memory, the profiler:
void check_communication_bound(const Case& c, Findings& found);
void check_concurrent_profilers(const Case& c, Findings& found);
void check_data_parallel(const Case& c, Findings& found);
void check_ddp_without_nccl(const Case& c, Findings& found);
void check_full_precision_matmul(const Case& c, Findings& found);
void check_gpu_idle(const Case& c, Findings& found);
void check_host_sync(const Case& c, Findings& found);
void check_launch_bound(const Case& c, Findings& found);
void check_low_occupancy(const Case& c, Findings& found);
void check_memcpy_bound(const Case& c, Findings& found);
void check_memory_growth(const Case& c, Findings& found);
void check_memory_near_limit(const Case& c, Findings& found);
void check_profiler_overhead(const Case& c, Findings& found);
void check_unaligned_matmul(const Case& c, Findings& found);

// Those about work of the host alone, which devices may hide (limit_to_host), and the others.
std::span<const Rule> host_rules();
std::span<const Rule> rules();
// Those whose evidence samples have: no counts of calls, no operators, no memory.
std::span<const Rule> rules_of_samples();

}  // namespace stepscope
