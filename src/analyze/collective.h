// Collectives: what kind a call is, what it moves, how its speed is judged. Names come from NCCL's
// kernels (ncclDevKernel_AllReduce_Sum_f32_RING_LL), from torch's scopes (nccl:all_reduce,
// gloo:broadcast) and from the metadata of newer traces ("Collective name": "allreduce").
#pragma once

#include <cstdint>
#include <string_view>

namespace stepscope {

enum class CollectiveType : uint8_t {
  kOther = 0,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kSend,
  kReceive,
  kSendReceive,  // NCCL runs both, and all_to_all, as one kind of kernel
  kBarrier,
};
inline constexpr uint8_t kCollectiveTypes = 13;

std::string_view collective_name(CollectiveType type);  // "all_reduce"
// Of a kernel, a scope or metadata; kOther where the name says nothing.
CollectiveType find_collective_type(std::string_view name);

// No rank can end it before all others have come: ends are the same moment on all of them.
bool ends_together(CollectiveType type);
bool is_point_to_point(CollectiveType type);

// Bytes over the bus per byte of the message, as nccl-tests define it: a ring's all_reduce sends
// 2 (n - 1) / n of it.
double bus_factor(CollectiveType type, int64_t ranks);

// Of torch's and NCCL's names: "Float", "c10::BFloat16", "signed char", "f32". 0: unknown.
int64_t dtype_bytes(std::string_view type_name);

}  // namespace stepscope
