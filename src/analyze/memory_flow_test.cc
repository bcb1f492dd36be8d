#include "analyze/memory_flow.h"

#include <gtest/gtest.h>

#include "trace/training_trace_for_tests.h"

namespace stepscope {
namespace {

TEST(MemoryFlow, EachAllocationIsARectangleWithItsOperator) {
  TrainingTrace made;
  made.op("aten::linear", 100, 300);
  made.op("aten::empty", 110, 20);
  made.take(115, 0x1000, 256);
  made.take(200, 0x2000, 512);
  made.give_back(300, 0x1000, 256);
  const Trace trace = made.build();
  const MemoryFlow flow = build_memory_flow(trace, {});
  ASSERT_EQ(flow.devices.size(), 1u);
  EXPECT_EQ(flow.devices[0].name, "cpu");
  ASSERT_EQ(flow.rectangles.size(), 2u);
  const MemoryRectangle& first = flow.rectangles[0];
  EXPECT_EQ(first.address, 0x1000u);
  EXPECT_EQ(first.bytes, 256);
  EXPECT_EQ(first.begin_ns, 15);
  EXPECT_EQ(first.end_ns, 200);
  EXPECT_FALSE(first.is_open);
  EXPECT_EQ(first.operator_name, "aten::empty");
  const MemoryRectangle& second = flow.rectangles[1];
  EXPECT_TRUE(second.is_open);
  EXPECT_EQ(second.end_ns, 300);  // the trace's end
  EXPECT_EQ(second.operator_name, "aten::linear");
  EXPECT_EQ(flow.peak_bytes, 768);
  EXPECT_EQ(flow.peak_ns, 100);
}

TEST(MemoryFlow, CutsTheGapsBetweenUsedAddresses) {
  TrainingTrace made;
  made.op("aten::empty", 0, 100);
  made.take(10, 0x7f0000000000, 1'000);
  made.take(20, 0x7f0000000000 + 1'005, 1'000);  // a small gap stays
  made.take(30, 0x1000, 500);
  made.take(40, 0xfffffffffffffff0, 1'000);  // beyond the end of all addresses
  const Trace trace = made.build();
  const MemoryFlow flow = build_memory_flow(trace, {});
  ASSERT_EQ(flow.ranges.size(), 3u);
  EXPECT_EQ(flow.ranges[0].address, 0x1000u);
  EXPECT_EQ(flow.ranges[0].bytes, 500u);
  EXPECT_EQ(flow.ranges[1].bytes, 2'005u);
  EXPECT_EQ(flow.ranges[1].offset, 500u);
  EXPECT_EQ(flow.ranges[2].bytes, 15u);
  ASSERT_EQ(flow.rectangles.size(), 4u);
  EXPECT_EQ(flow.rectangles[0].offset, 500u);
  EXPECT_EQ(flow.rectangles[1].offset, 1'505u);
  EXPECT_EQ(flow.rectangles[2].offset, 0u);
  EXPECT_EQ(flow.rectangles[3].offset, 2'505u);
}

TEST(MemoryFlow, KeepsTheLargestAndCountsTheRest) {
  TrainingTrace made;
  made.op("aten::empty", 0, 100);
  made.take(10, 0xa000, 10);
  made.take(20, 0xb000, 300);
  made.take(30, 0xc000, 20);
  made.take(40, 0xd000, 200);
  made.take(50, 0, 7);  // without an address
  const Trace trace = made.build();
  const MemoryFlow flow = build_memory_flow(trace, {.device = "", .limit = 2});
  ASSERT_EQ(flow.rectangles.size(), 2u);
  EXPECT_EQ(flow.rectangles[0].bytes, 300);
  EXPECT_EQ(flow.rectangles[1].bytes, 200);
  EXPECT_EQ(flow.total, 4u);
  EXPECT_EQ(flow.left_out, 2u);
  EXPECT_EQ(flow.left_out_bytes, 30);
  EXPECT_EQ(flow.without_address, 1u);
  EXPECT_EQ(flow.peak_bytes, 537);  // of all of it
}

TEST(MemoryFlow, ShowsOneDeviceOfOneProcess) {
  TrainingTrace made;
  made.op("aten::empty", 0, 100);
  made.take(10, 0xa000, 10);
  made.set_device(1, 0);
  made.take(20, 0xb000, 300);
  made.on_thread(2, 2);
  made.take(30, 0xb000, 400);
  const Trace trace = made.build();
  const MemoryFlow largest = build_memory_flow(trace, {});
  ASSERT_EQ(largest.devices.size(), 3u);
  EXPECT_EQ(largest.devices[largest.device].name, "cuda:0, process 2");
  EXPECT_EQ(largest.rectangles.at(0).bytes, 400);
  const MemoryFlow cpu = build_memory_flow(trace, {.device = "cpu"});
  EXPECT_EQ(cpu.rectangles.at(0).bytes, 10);
  const MemoryFlow none = build_memory_flow(trace, {.device = "tpu"});
  EXPECT_EQ(none.device, none.devices.size());
  EXPECT_TRUE(none.rectangles.empty());
}

TEST(MemoryFlow, MemoryOfTrainingHasItsCategory) {
  TrainingTrace made;
  made.op("aten::empty", 10, 2);
  made.take(11, 0xa, 1'000);
  made.op("aten::linear", 100, 40, 0);
  made.take(110, 0xb, 3'000);
  made.op("aten::relu", 150, 40, 2);
  made.backward_node("AddmmBackward0", 200, 40, 1);
  made.take(210, 0xc, 1'000);
  made.give_back(210, 0xb, 3'000);
  made.optimizer_step(300, 100);
  const Trace trace = made.build();
  const MemoryFlow flow = build_memory_flow(trace, {});
  ASSERT_EQ(flow.rectangles.size(), 3u);
  EXPECT_EQ(flow.rectangles[0].category, MemoryCategory::kParameter);
  EXPECT_EQ(flow.rectangles[1].category, MemoryCategory::kActivation);
  EXPECT_EQ(flow.rectangles[2].category, MemoryCategory::kGradient);
  EXPECT_TRUE(flow.is_judged);
}

TEST(MemoryFlow, WithoutAllocationsThereIsNone) {
  TrainingTrace made;
  made.op("aten::empty", 10, 2);
  const Trace trace = made.build();
  const MemoryFlow flow = build_memory_flow(trace, {});
  EXPECT_TRUE(flow.devices.empty());
  EXPECT_TRUE(flow.rectangles.empty());
}

}  // namespace
}  // namespace stepscope
