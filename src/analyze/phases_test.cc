#include <gtest/gtest.h>

#include <string>

#include "analyze/hand_made_loop.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

constexpr const char* kColumns[] = {"input_ns",         "forward_ns", "backward_ns", "optimizer_ns",
                                    "communication_ns", "copy_ns",    "host_ns",     "idle_ns"};

Table make_phases(HandMadeTrace& made) {
  const Trace trace = made.build();
  Result<Table> table = phases(trace, {});
  EXPECT_TRUE(table.ok()) << table.status().message();
  for (size_t row = 0; row < table->rows(); ++row) {
    int64_t total_ns = 0;
    for (const char* column : kColumns) total_ns += int_at(*table, column, row);
    EXPECT_EQ(total_ns, int_at(*table, "dur_ns", row)) << "they add up";
  }
  return *std::move(table);
}

// "input 100 idle 20": the phases of a row that are not 0.
std::string text_of(const Table& table, size_t row) {
  std::string text;
  for (const std::string column : kColumns) {
    const int64_t ns = int_at(table, column, row);
    if (ns == 0) continue;
    text +=
        (text.empty() ? "" : " ") + column.substr(0, column.size() - 3) + " " + std::to_string(ns);
  }
  return text;
}

TEST(Phases, PlainLoopIsDividedWithGapsInAPassPartOfIt) {
  HandMadeLoop loop;
  loop.zero_grad().fetch().op("aten::to", 7).forward().op("aten::cross_entropy_loss", 20);
  loop.backward().optimize().op("aten::item", 5);
  loop.fetch();
  const Table table = make_phases(loop.made);
  ASSERT_EQ(table.rows(), 1u);
  // Gaps: after fetch, copy, backward, optimizer and item; within forward; before backward.
  EXPECT_EQ(text_of(table, 0),
            "input 100 forward 80 backward 90 optimizer 30 copy 7 host 5 idle 50");
  EXPECT_EQ(int_at(table, "step", 0), 0);
  EXPECT_EQ(int_at(table, "start_ns", 0), 15);
}

TEST(Phases, LongGapBetweenOperatorsIsIdle) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 5'000'000);
  made.op("aten::linear", 0, 1'000'000);
  made.op("aten::linear", 1'900'000, 100'000);
  made.op("aten::linear", 3'900'000, 100'000);
  made.op("autograd::engine::evaluate_function: AddmmBackward0", 4'000'000, 100'000);
  EXPECT_EQ(text_of(make_phases(made), 0), "forward 2100000 backward 100000 idle 2800000");
}

TEST(Phases, ModulesAreForwardAndOperatorsBeforeThemAreNot) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  made.op("aten::div", 0, 50);  // what is done to the batch
  made.add(made.thread(), "nn.Module: Net", "nn_module", SliceKind::kPython, 100, 200);
  made.add(made.thread(), "nn.Module: head (Linear)", "nn_module", SliceKind::kPython, 120, 50);
  made.op("aten::linear", 130, 30);
  made.op("aten::to", 200, 10);
  made.op("aten::mse_loss", 310, 40);
  made.op("autograd::engine::evaluate_function: MseLossBackward0", 400, 100);
  made.op("aten::linalg_vector_norm", 600, 30);
  EXPECT_EQ(text_of(make_phases(made), 0), "forward 250 backward 150 host 80 idle 520");
}

TEST(Phases, BackwardCallHoldsWhatTheEngineDoesBetweenNodes) {
  for (const std::string_view call :
       {"torch/_tensor.py(566): backward", "/usr/lib/torch/_tensor.py(566): Tensor.backward",
        "torch/autograd/__init__.py(255): backward", "backward"}) {
    HandMadeTrace made;
    made.step("ProfilerStep#1", 0, 1000);
    made.op("aten::linear", 0, 100);
    if (call == "backward") {
      made.add(made.thread(), call, "phase", SliceKind::kAnnotation, 100, 700);
    } else {
      made.python(call, 100, 700);
    }
    made.op("autograd::engine::evaluate_function: AddmmBackward0", 300, 100);
    made.add(made.thread(), "nn.Module: Net", "nn_module", SliceKind::kPython, 500, 100);
    made.op("autograd::engine::evaluate_function: AddmmBackward0", 650, 100);
    EXPECT_EQ(text_of(make_phases(made), 0), "forward 100 backward 700 idle 200") << call;
  }
}

TEST(Phases, FunctionsOfUsersNamedBackwardAreHost) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  made.python("train.py(7): backward", 0, 400);
  made.op("aten::mm", 900, 100);
  EXPECT_EQ(text_of(make_phases(made), 0), "forward 100 host 400 idle 500");
}

TEST(Phases, NodesOnTheEnginesThreadCountFromTheFirstToTheLastOfAPass) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  const TrackId engine = made.builder().add_thread(ForeignId{1}, ForeignId{2});
  const auto node = [&](int64_t start_ns) {
    made.add(engine, "autograd::engine::evaluate_function: AddmmBackward0", "cpu_op",
             SliceKind::kOperator, start_ns, 50);
  };
  made.op("aten::linear", 0, 100);
  node(200);
  node(300);
  made.annotation("Optimizer.step#Adam.step", 400, 50);
  made.op("aten::linear", 500, 50);
  node(600);
  EXPECT_EQ(text_of(make_phases(made), 0), "forward 150 backward 350 optimizer 50 idle 450");
}

TEST(Phases, ClosureOfAnOptimizerIsForwardAndBackward) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  made.annotation("Optimizer.step#LBFGS.step", 0, 1000);
  made.add(made.thread(), "nn.Module: Net", "nn_module", SliceKind::kPython, 100, 200);
  made.op("autograd::engine::evaluate_function: AddmmBackward0", 300, 400);
  EXPECT_EQ(text_of(make_phases(made), 0), "forward 200 backward 400 optimizer 400");
}

TEST(Phases, OperatorsOfAClosureAreForwardAndThoseOfTheOptimizerAreNot) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  made.annotation("Optimizer.step#Adam.step", 0, 1000);
  made.op("aten::linear", 100, 100);
  made.op("aten::linear", 220, 80);
  made.annotation("Optimizer.zero_grad#Adam.zero_grad", 310, 50);
  made.op("aten::zero_", 320, 30);
  made.op("autograd::engine::evaluate_function: AddmmBackward0", 400, 300);
  made.op("aten::_foreach_add_", 800, 100);
  // The gaps of 20 and of 10 + 40 are those of the passes.
  EXPECT_EQ(text_of(make_phases(made), 0), "forward 200 backward 350 optimizer 450");
}

TEST(Phases, OptimizerInTheBackwardPassIsOptimizer) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  made.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 0, 1000);
  made.annotation("Optimizer.step#SGD.step", 100, 200);
  EXPECT_EQ(text_of(make_phases(made), 0), "backward 800 optimizer 200");
}

TEST(Phases, ModulesInTheDataLoaderAreInput) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  made.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 600);
  made.python("nn.Module: RandomCrop_0", 100, 200);
  made.python("train.py(1): log", 700, 100);
  EXPECT_EQ(text_of(make_phases(made), 0), "input 600 host 100 idle 300");
}

TEST(Phases, CollectiveElsewhereCountsWhileTheThreadOnlyWaits) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  const TrackId gloo = made.builder().add_thread(ForeignId{1}, ForeignId{3});
  made.add(made.thread(), "backward", "phase", SliceKind::kAnnotation, 100, 800);
  made.op("autograd::engine::evaluate_function: AddmmBackward0", 100, 300);
  made.add(gloo, "gloo:all_reduce", "user_annotation", SliceKind::kAnnotation, 200, 500);
  made.op("c10d::allreduce_", 950, 50);
  EXPECT_EQ(text_of(make_phases(made), 0), "backward 500 communication 350 idle 150");
}

TEST(Phases, OtherThreadsOfTheProcessAreHostAndOtherProcessesAreNothing) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  made.op("aten::mm", 0, 100);
  const TrackId thread = made.builder().add_thread(ForeignId{1}, ForeignId{3});
  made.add(thread, "aten::pin_memory", "cpu_op", SliceKind::kOperator, 50, 150);
  made.add(thread, "threading.py(1): run", "python_function", SliceKind::kPython, 0, 1000);
  const TrackId worker = made.builder().add_thread(ForeignId{9}, ForeignId{9});
  made.add(worker, "aten::stack", "cpu_op", SliceKind::kOperator, 300, 150);
  EXPECT_EQ(text_of(make_phases(made), 0), "forward 100 host 100 idle 800");
}

TEST(Phases, DeviceWorkCountsForThePhaseThatLaunchedItWhileTheThreadWaits) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  made.add(made.thread(), "nn.Module: Net", "nn_module", SliceKind::kPython, 0, 100);
  made.launch(10, 10, 1);
  made.op("autograd::engine::evaluate_function: AddmmBackward0", 100, 100);
  made.launch(110, 10, 2);
  made.kernel("gemm", 50, 300, 1);   // forward, hidden until 200
  made.kernel("gemm", 350, 200, 2);  // backward
  made.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 500, 100, 3);
  made.op("aten::item", 250, 450);
  made.add(made.thread(), "cudaStreamSynchronize", "cuda_runtime", SliceKind::kRuntime, 260, 430);
  // 50 ns of forward before item, 90 in its wait; then 200 of backward, 50 of NCCL; 110 is host.
  EXPECT_EQ(text_of(make_phases(made), 0),
            "forward 240 backward 300 communication 50 host 110 idle 300");
}

TEST(Phases, ScopesOfLightningsProfilerAreKnown) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  made.annotation("[pl][profile][_TrainingEpochLoop].train_dataloader_next", 0, 100);
  made.annotation("[pl][profile]run_training_batch", 100, 800);
  made.annotation("Optimizer.step#Adam.step", 100, 800);
  made.annotation("[pl][profile][Strategy]DDPStrategy.training_step", 200, 300);
  made.op("aten::linear", 210, 100);
  made.annotation("[pl][profile][Strategy]DDPStrategy.backward", 500, 250);
  made.op("autograd::engine::evaluate_function: AddmmBackward0", 600, 50);
  EXPECT_EQ(text_of(make_phases(made), 0),
            "input 100 forward 300 backward 250 optimizer 250 idle 100");
}

TEST(Phases, ACollectiveInTheBackgroundIsCommunicationWhileNothingElseGoesOn) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 1000);
  made.annotation("hccl:all_to_all", 100, 800);
  made.annotation("DistributedDataParallel.forward", 110, 490);
  made.op("aten::mm", 120, 400);
  EXPECT_EQ(text_of(make_phases(made), 0), "forward 490 communication 310 idle 200");
}

TEST(Phases, ScopesAloneAreHost) {
  HandMadeTrace made;
  made.step("step 1", 0, 100);
  made.annotation("simulate", 10, 60);
  EXPECT_EQ(text_of(make_phases(made), 0), "host 60 idle 40");
}

TEST(Phases, StepsOfOtherRanksAreLeftOutAndTold) {
  HandMadeLoop loop;
  const TrackId rank = loop.made.builder().add_thread(ForeignId{2}, ForeignId{2});
  loop.made.add(rank, "ProfilerStep#1", "user_annotation", SliceKind::kStep, 900, 500);
  loop.made.step("ProfilerStep#1", 1000, 500);
  loop.fetch().forward().backward().optimize();
  const Table table = make_phases(loop.made);
  ASSERT_EQ(table.rows(), 1u);
  EXPECT_EQ(int_at(table, "start_ns", 0), 100);
  EXPECT_EQ(table.notes.size(), 1u);
}

TEST(Phases, OverlappingStepsEachAddUp) {
  HandMadeLoop loop;
  loop.made.step("step 1", 1000, 300);
  loop.made.step("step 2", 1100, 500);
  loop.fetch().forward().backward().optimize();
  EXPECT_EQ(make_phases(loop.made).rows(), 2u);
}

TEST(Phases, TraceWithoutStepsHasNoRows) {
  HandMadeTrace made;
  made.python("f", 0, 10);
  EXPECT_EQ(make_phases(made).rows(), 0u);
}

}  // namespace
}  // namespace stepscope
