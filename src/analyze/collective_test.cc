#include "analyze/collective.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Collective, IsKnownByKernelsScopesAndMetadata) {
  EXPECT_EQ(find_collective_type("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"),
            CollectiveType::kAllReduce);
  EXPECT_EQ(find_collective_type("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)"),
            CollectiveType::kSendReceive);
  EXPECT_EQ(find_collective_type("nccl:_all_gather_base"), CollectiveType::kAllGather);
  EXPECT_EQ(find_collective_type("gloo:broadcast"), CollectiveType::kBroadcast);
  EXPECT_EQ(find_collective_type("_reduce_scatter_base"), CollectiveType::kReduceScatter);
  EXPECT_EQ(find_collective_type("all_to_allv"), CollectiveType::kAllToAll);
  EXPECT_EQ(find_collective_type("all-reduce.4"), CollectiveType::kAllReduce);
  EXPECT_EQ(find_collective_type("collective-permute-start.1"), CollectiveType::kSendReceive);
  EXPECT_EQ(find_collective_type("reduce"), CollectiveType::kReduce);
  EXPECT_EQ(find_collective_type("sgemm"), CollectiveType::kOther);
}

TEST(Collective, HasTheBusFactorOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveType::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveType::kAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveType::kBroadcast, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveType::kAllReduce, 1), 1);
}

TEST(Collective, KnowsElementsByTorchsAndNcclsNames) {
  EXPECT_EQ(dtype_bytes("Float"), 4);
  EXPECT_EQ(dtype_bytes("c10::BFloat16"), 2);
  EXPECT_EQ(dtype_bytes("signed char"), 1);
  EXPECT_EQ(dtype_bytes("long int"), 8);
  EXPECT_EQ(dtype_bytes("Quantum"), 0);
}

}  // namespace
}  // namespace stepscope
