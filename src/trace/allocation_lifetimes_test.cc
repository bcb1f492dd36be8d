#include "trace/allocation_lifetimes.h"

#include <gtest/gtest.h>

#include <limits>

#include "trace/training_trace_for_tests.h"

namespace stepscope {
namespace {

TEST(AllocationLifetimes, PairByAddressInOrderOfTime) {
  TrainingTrace made;
  made.op("aten::mm", 0, 20);
  made.take(1, 0xa, 100);
  made.take(2, 0xb, 200);
  made.give_back(3, 0xa, 100);
  made.take(4, 0xa, 300);  // the address is used again
  made.give_back(30, 0xb, 200);
  const Trace trace = made.build();
  const AllocationLifetimes all = AllocationLifetimes::build(trace);
  ASSERT_EQ(all.lifetimes.size(), 3u);
  EXPECT_EQ(all.lifetimes[0].begin_ns, 1);
  EXPECT_EQ(all.lifetimes[0].end_ns, 3);
  EXPECT_EQ(all.lifetimes[1].end_ns, 30);
  EXPECT_EQ(all.lifetimes[1].bytes, 200);
  EXPECT_TRUE(all.lifetimes[2].is_open());
  EXPECT_EQ(trace.slice_name(trace.allocations().slice[all.lifetimes[1].taken_row]), "aten::mm");
  EXPECT_EQ(trace.allocations().slice[all.lifetimes[1].freed_row], kNoSlice);
  EXPECT_EQ(all.taken[3], 2u);
  EXPECT_EQ(all.freed[4], 1u);
  EXPECT_EQ(all.unseen_frees, 0u);
}

TEST(AllocationLifetimes, OneAddressIsAnotherPieceInEachProcessAndOnEachDevice) {
  TrainingTrace made;
  made.take(1, 0xa, 100);
  made.set_device(1, 0);
  made.take(2, 0xa, 200);
  made.on_thread(2, 1);
  made.take(3, 0xa, 300);
  made.give_back(4, 0xa, 300);
  const AllocationLifetimes all = AllocationLifetimes::build(made.build());
  ASSERT_EQ(all.lifetimes.size(), 3u);
  EXPECT_TRUE(all.lifetimes[0].is_open());
  EXPECT_TRUE(all.lifetimes[1].is_open());
  EXPECT_EQ(all.lifetimes[2].end_ns, 4);
  EXPECT_EQ(all.devices.size(), 2u);
  EXPECT_EQ(device_name(all.devices[1]), "cuda:0");
  EXPECT_EQ(all.spaces.size(), 3u);
}

TEST(AllocationLifetimes, MemoryFromBeforeLivesFromTheBegin) {
  TrainingTrace made;
  made.op("aten::mm", 5, 20);
  made.give_back(10, 0xa, 100);
  const AllocationLifetimes all = AllocationLifetimes::build(made.build());
  ASSERT_EQ(all.lifetimes.size(), 1u);
  EXPECT_EQ(all.lifetimes[0].begin_ns, 5);
  EXPECT_EQ(all.lifetimes[0].end_ns, 10);
  EXPECT_EQ(all.lifetimes[0].bytes, 100);
  EXPECT_TRUE(all.lifetimes[0].was_there_before());
}

TEST(AllocationLifetimes, WhatTheTotalTellsOfAndNobodyGaveBackStayed) {
  TrainingTrace made;
  made.set_device(1, 0);
  made.set_next_total(1'050);  // 1,000 before, of which 300 are given back
  made.take(10, 0xa, 50);
  made.give_back(20, 0xb, 300);
  const AllocationLifetimes all = AllocationLifetimes::build(made.build());
  ASSERT_EQ(all.lifetimes.size(), 3u);
  EXPECT_EQ(all.lifetimes[2].bytes, 700);
  EXPECT_TRUE(all.lifetimes[2].is_open());
  EXPECT_TRUE(all.lifetimes[2].was_there_before());
}

TEST(AllocationLifetimes, TheTotalOfTheCpuTellsNothingOfBefore) {
  TrainingTrace made;
  made.set_next_total(1'050);
  made.take(10, 0xa, 50);
  EXPECT_EQ(AllocationLifetimes::build(made.build()).lifetimes.size(), 1u);
}

TEST(AllocationLifetimes, AnAddressThatIsTakenTwiceWasGivenBackUnseen) {
  TrainingTrace made;
  made.take(1, 0xa, 100);
  made.take(7, 0xa, 300);
  const AllocationLifetimes all = AllocationLifetimes::build(made.build());
  ASSERT_EQ(all.lifetimes.size(), 2u);
  EXPECT_EQ(all.lifetimes[0].end_ns, 7);
  EXPECT_EQ(all.unseen_frees, 1u);
}

TEST(AllocationLifetimes, WithoutAddressesTheLastOfTheSameSizeIsGivenBack) {
  TrainingTrace made;
  made.take(1, 0, 100);
  made.take(2, 0, 100);
  made.take(3, 0, 8);
  made.give_back(4, 0, 100);
  const AllocationLifetimes all = AllocationLifetimes::build(made.build());
  ASSERT_EQ(all.lifetimes.size(), 3u);
  EXPECT_TRUE(all.lifetimes[0].is_open());
  EXPECT_EQ(all.lifetimes[1].end_ns, 4);
}

TEST(AllocationLifetimes, FiguresBeyondAllMemoryStayInTheirRange) {
  TrainingTrace made;
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  made.take(1, 0xa, lowest);  // gives back as much as there can be
  made.take(2, 0xb, lowest);
  made.take(3, 0xc, 0);
  const AllocationLifetimes all = AllocationLifetimes::build(made.build());
  ASSERT_EQ(all.lifetimes.size(), 2u);
  EXPECT_EQ(all.lifetimes[0].bytes, std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace stepscope
