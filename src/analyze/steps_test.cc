#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

Table make(HandMadeTrace& made) {
  const Trace trace = made.build();
  Result<Table> table = steps(trace, {});
  EXPECT_TRUE(table.ok()) << table.status().message();
  return *std::move(table);
}

TEST(Steps, EveryMomentCountsOnceByPrecedence) {
  HandMadeTrace made;
  made.step("ProfilerStep#5", 0, 1000);
  made.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 300);
  made.op("aten::stack", 100, 50);
  made.op("aten::mm", 400, 200);
  made.launch(450, 100, 7);
  made.kernel("volta_sgemm", 500, 250, 7);
  const Table table = make(made);
  ASSERT_EQ(table.rows(), 1u);
  EXPECT_EQ(int_at(table, "step", 0), 5);
  EXPECT_EQ(int_at(table, "dur_ns", 0), 1000);
  EXPECT_EQ(int_at(table, "input_ns", 0), 300);
  EXPECT_EQ(int_at(table, "kernel_ns", 0), 250);
  EXPECT_EQ(int_at(table, "runtime_ns", 0), 50);
  EXPECT_EQ(int_at(table, "cpu_exec_ns", 0), 50);
  EXPECT_EQ(int_at(table, "other_ns", 0), 1000 - 300 - 250 - 50 - 50);
}

TEST(Steps, StepReachesToTheEndOfItsDeviceWorkAndDelaysTheNext) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 100);
  made.op("aten::mm", 10, 50);
  made.launch(20, 10, 1);
  made.kernel("a", 50, 200, 1);
  made.step("ProfilerStep#2", 100, 100);
  made.op("aten::mm", 110, 50);
  made.launch(120, 10, 2);
  made.kernel("a", 260, 100, 2);
  const Table table = make(made);
  ASSERT_EQ(table.rows(), 2u);
  EXPECT_EQ(int_at(table, "dur_ns", 0), 250);
  EXPECT_EQ(int_at(table, "start_ns", 1), 250);
  EXPECT_EQ(int_at(table, "dur_ns", 1), 110);
  EXPECT_EQ(int_at(table, "scope_ns", 1), 100);
}

TEST(Steps, WorkFromBeforeTheFirstStepDelaysItsBegin) {
  HandMadeTrace made;
  made.op("aten::mm", 0, 20);
  made.launch(5, 10, 1);
  made.kernel("a", 20, 50, 1);
  made.step("ProfilerStep#1", 30, 100);
  made.launch(60, 10, 2);
  made.kernel("a", 80, 10, 2);
  const Table table = make(made);
  EXPECT_EQ(int_at(table, "start_ns", 0), 70);
  EXPECT_EQ(int_at(table, "dur_ns", 0), 60);
}

TEST(Steps, LastStepIsLeftOutWhenItsDeviceWorkIsIncomplete) {
  HandMadeTrace made;
  for (int64_t i = 0; i < 2; ++i) {
    made.step("ProfilerStep#" + std::to_string(i), i * 100, 100);
    for (int64_t k = 0; k < (i == 0 ? 5 : 3); ++k) {
      made.launch(i * 100 + k * 10, 5, 1 + i * 10 + k);
      made.kernel("a", i * 100 + k * 10 + 5, 4, 1 + i * 10 + k);
    }
  }
  const Table table = make(made);
  EXPECT_EQ(table.rows(), 1u);
  EXPECT_EQ(table.notes.size(), 1u);
}

TEST(Steps, CommunicationIsKernelsOfNcclAndScopesOfGloo) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 100);
  made.annotation("gloo:all_reduce", 10, 20);
  made.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", 50, 30, 9);
  const Table table = make(made);
  EXPECT_EQ(int_at(table, "communication_ns", 0), 50);
  EXPECT_EQ(int_at(table, "kernel_ns", 0), 0);
}

TEST(Steps, ScopesAndKernelsOfOtherBackendsAreCommunication) {
  for (const std::string_view scope :
       {"nccl:all_reduce", "xccl:all_reduce", "hccl:all_to_all", "mpi:broadcast", "ucc:barrier"}) {
    HandMadeTrace made;
    made.step("ProfilerStep#1", 0, 100);
    made.annotation(scope, 10, 20);
    made.kernel("oneccl_reduce_base<float, 2, 16, 1, 1, 2>", 50, 30, 9);
    EXPECT_EQ(int_at(make(made), "communication_ns", 0), 50) << scope;
  }
  for (const std::string_view other : {"c10::nccl", "nccl::f", "a ccl:x", "forward:bottom_mlp"}) {
    HandMadeTrace made;
    made.step("ProfilerStep#1", 0, 100);
    made.annotation(other, 10, 20);
    EXPECT_EQ(int_at(make(made), "communication_ns", 0), 0) << other;
  }
}

TEST(Steps, ACollectiveInTheBackgroundTakesNoTimeOfTheThread) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  made.annotation("hccl:all_to_all", 100, 800);
  made.annotation("## forward ##", 110, 490);
  made.op("aten::mm", 120, 400);
  const Table table = make(made);
  EXPECT_EQ(int_at(table, "communication_ns", 0), 0);
  EXPECT_EQ(int_at(table, "cpu_exec_ns", 0), 400);
}

TEST(Steps, CollectivesOfXlaAreCommunication) {
  HandMadeTrace made;
  made.step("train#1", 0, 100);
  made.kernel("all-reduce.4", 10, 20, 0);
  made.kernel("fusion.all", 40, 30, 0);
  const Table table = make(made);
  EXPECT_EQ(int_at(table, "communication_ns", 0), 20);
  EXPECT_EQ(int_at(table, "kernel_ns", 0), 30);
}

TEST(Steps, StepsOfADeviceAreTakenWhereTheProgramMarksNone) {
  for (const bool is_marked : {false, true}) {
    HandMadeTrace made;
    const TrackId line = made.add_stream(0, 1);
    for (int64_t i = 0; i < 3; ++i) {
      made.add(line, std::to_string(i + 7), "Steps", SliceKind::kDeviceAnnotation, i * 100, 90);
      made.kernel("fusion", i * 100 + 10, 50, 0);
    }
    if (is_marked) made.step("train#1", 0, 300);
    const Table table = make(made);
    if (is_marked) {
      EXPECT_EQ(table.rows(), 1u);
      continue;
    }
    ASSERT_EQ(table.rows(), 3u);
    EXPECT_EQ(int_at(table, "step", 0), 7);
    EXPECT_EQ(int_at(table, "dur_ns", 0), 90);
    EXPECT_EQ(int_at(table, "kernel_ns", 0), 50);
  }
}

TEST(Steps, StepsOfSeveralRanksInOneTraceAreThoseOfOne) {
  HandMadeTrace made;
  const TrackId other_rank = made.builder().add_thread(ForeignId{2}, ForeignId{2});
  for (int64_t i = 0; i < 3; ++i) {
    const std::string name = "ProfilerStep#" + std::to_string(i);
    made.step(name, i * 100, 100);
    made.launch(i * 100 + 10, 5, i + 1);
    made.kernel("a", i * 100 + 20, 60, i + 1);
    made.add(other_rank, name, "user_annotation", SliceKind::kStep, i * 100 + 3, 100);
  }
  const Table table = make(made);
  ASSERT_EQ(table.rows(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(int_at(table, "step", i), static_cast<int64_t>(i));
    EXPECT_EQ(int_at(table, "dur_ns", i), 100);
    EXPECT_EQ(int_at(table, "kernel_ns", i), 60);
  }
  EXPECT_EQ(table.notes, (std::vector<std::string>{
                             "the steps are those of one process; 1 more had steps of their own"}));
}

TEST(Steps, StretchesOfAProgramThatWasRecordedNowAndThenAllCount) {
  HandMadeTrace made;
  const TrackId later = made.builder().add_thread(ForeignId{2}, ForeignId{2});
  for (int64_t i = 0; i < 3; ++i) {
    made.op("aten::mm", i * 100 + 10, 5);
    made.step("step " + std::to_string(i), i * 100, 100);
    made.add(later, "step " + std::to_string(i + 6), "", SliceKind::kStep, i * 100 + 600, 100);
  }
  const Table table = make(made);
  ASSERT_EQ(table.rows(), 6u);
  EXPECT_EQ(int_at(table, "step", 5), 8);
  EXPECT_TRUE(table.notes.empty());
}

TEST(Steps, ScopesOfAnotherThreadAtTheSameTimeAreNoStepsAndLaterOnesAre) {
  HandMadeTrace made;
  const TrackId thread = made.builder().add_thread(ForeignId{1}, ForeignId{9});
  made.op("aten::mm", 10, 5);
  made.step("ProfilerStep#1", 0, 100);
  made.step("ProfilerStep#2", 100, 100);
  made.add(thread, "ProfilerStep#1", "user_annotation", SliceKind::kStep, 2, 100);
  made.add(thread, "ProfilerStep#3", "user_annotation", SliceKind::kStep, 199, 100);
  const Table table = make(made);
  ASSERT_EQ(table.rows(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(int_at(table, "step", i), static_cast<int64_t>(i) + 1);
  EXPECT_EQ(table.notes,
            (std::vector<std::string>{
                "the steps are those of one thread; 1 more had steps at the same time"}));
}

TEST(Steps, WithoutStepScopesAllOperatorsAreOneStep) {
  HandMadeTrace made;
  made.op("aten::mm", 100, 50);
  made.op("aten::mm", 200, 50);
  const Table table = make(made);
  ASSERT_EQ(table.rows(), 1u);
  EXPECT_EQ(int_at(table, "dur_ns", 0), 150);
  EXPECT_EQ(int_at(table, "cpu_exec_ns", 0), 100);
  EXPECT_EQ(table.notes.size(), 1u);
}

TEST(Steps, TraceWithoutStepsAndOperatorsHasNoRows) {
  HandMadeTrace made;
  made.python("f", 0, 10);
  EXPECT_EQ(make(made).rows(), 0u);
}

}  // namespace
}  // namespace stepscope
