#include "trace/memory_categories.h"

#include <gtest/gtest.h>

#include <string>

#include "trace/training_trace_for_tests.h"

namespace stepscope {
namespace {

// The categories of the lifetimes in order: "parameter gradient".
std::string categories_of(TrainingTrace& made) {
  const Trace trace = made.build();
  const AllocationLifetimes all = AllocationLifetimes::build(trace);
  std::string text;
  for (const MemoryCategory category : find_memory_categories(trace, all)) {
    if (!text.empty()) text += ", ";
    text += kMemoryCategoryNames[static_cast<size_t>(category)].one;
  }
  return text;
}

// Two steps: forward 100..200, backward 200..300, optimizer 300..400, and again 1000 ns later.
void add_steps(TrainingTrace& made) {
  for (int64_t step = 0; step < 2; ++step) {
    const int64_t at_ns = 1000 * step, number = 10 * step;
    made.zero_grad(at_ns + 90, 5);
    made.op("aten::linear", at_ns + 100, 40, number);
    made.op("aten::relu", at_ns + 150, 40, number + 2);
    made.backward_node("ReluBackward0", at_ns + 200, 40, number + 2);
    made.backward_node("AddmmBackward0", at_ns + 250, 40, number + 1);
    made.optimizer_step(at_ns + 300, 100);
  }
}

TEST(MemoryCategories, TakenGoingForwardAndFreedGoingBackwardIsAnActivation) {
  TrainingTrace made;
  add_steps(made);
  made.take(110, 0xa, 64);  // in aten::linear
  made.give_back(260, 0xa, 64);
  made.take(160, 0xb, 64);  // in aten::relu, kept by the program
  EXPECT_EQ(categories_of(made), "activation, activation");
}

TEST(MemoryCategories, FreedBeforeTheBackwardPassIsTemporary) {
  TrainingTrace made;
  add_steps(made);
  made.take(110, 0xa, 64);
  made.give_back(195, 0xa, 64);
  made.take(310, 0xb, 64);  // in the optimizer's step
  made.give_back(390, 0xb, 64);
  made.take(10, 0xc, 64);  // before training
  made.give_back(20, 0xc, 64);
  EXPECT_EQ(categories_of(made), "temporary, temporary, temporary");
}

TEST(MemoryCategories, TakenGoingBackwardIsAGradientWhereItStays) {
  TrainingTrace made;
  add_steps(made);
  made.take(260, 0xa, 64);
  made.give_back(1092, 0xa, 64);  // in zero_grad
  made.take(270, 0xb, 64);        // to the end
  EXPECT_EQ(categories_of(made), "gradient, gradient");
}

TEST(MemoryCategories, TakenAndFreedGoingBackwardIsADetailOrTemporary) {
  TrainingTrace made;
  add_steps(made);
  made.take(210, 0xa, 64);
  made.give_back(270, 0xa, 64);  // in a later node
  made.take(220, 0xb, 64);
  made.give_back(230, 0xb, 64);  // in the same node
  made.take(280, 0xc, 64);
  made.give_back(295, 0xc, 64);  // after the last node, before the optimizer
  EXPECT_EQ(categories_of(made), "autograd detail, temporary, autograd detail");
}

TEST(MemoryCategories, BackwardNodesOnAThreadOfTheirOwnAreThePassOfTheirProcess) {
  TrainingTrace made;
  made.op("aten::linear", 100, 40, 0);
  made.op("aten::relu", 150, 40, 2);
  made.optimizer_step(300, 100);
  made.on_thread(1, 2);
  made.op("aten::add", 210, 5);  // not the training thread's: does not end the pass
  made.backward_node("ReluBackward0", 200, 5, 2);
  made.take(203, 0xa, 64);
  made.backward_node("AddmmBackward0", 250, 40, 1);
  made.take(260, 0xb, 64);
  made.give_back(270, 0xa, 64);
  EXPECT_EQ(categories_of(made), "autograd detail, gradient");
}

TEST(MemoryCategories, AnOldRecordingsBackwardFunctionsAreNodes) {
  TrainingTrace made;
  made.op("aten::linear", 100, 40, 0);
  made.take(110, 0xa, 64);
  made.op("aten::relu", 150, 40, 2);
  made.op("ReluBackward0", 200, 40, 2);
  made.op("AddmmBackward", 250, 40, 1);
  made.give_back(255, 0xa, 64);
  made.take(260, 0xb, 64);
  made.op("torch::autograd::AccumulateGrad", 292, 3);
  made.optimizer_step(300, 100);
  EXPECT_EQ(categories_of(made), "activation, gradient");
}

TEST(MemoryCategories, ANodeLastsAsLongAsItIsEvaluated) {
  TrainingTrace made;
  made.op("aten::linear", 100, 40, 0);
  made.backward_node("AddmmBackward0", 200, 60, 0);
  made.op("AddmmBackward0", 205, 20, 0);
  made.take(210, 0xa, 64);
  made.give_back(240, 0xa, 64);  // after its function, in the node
  made.optimizer_step(300, 100);
  EXPECT_EQ(categories_of(made), "temporary");
}

TEST(MemoryCategories, AMarkHoldsItsBackwardPassTogether) {
  TrainingTrace made;
  made.op("aten::linear", 100, 40, 0);
  made.op("aten::relu", 150, 40, 2);
  made.mark("backward", 195, 100);
  made.op("aten::ones_like", 196, 2);
  made.take(197, 0xa, 4);
  made.backward_node("ReluBackward0", 200, 40, 2);
  made.op("aten::add_", 242, 3);  // a hook
  made.take(243, 0xb, 64);
  made.backward_node("AddmmBackward0", 250, 40, 1);
  made.give_back(280, 0xa, 4);
  made.give_back(280, 0xb, 64);
  made.optimizer_step(300, 100);
  EXPECT_EQ(categories_of(made), "autograd detail, autograd detail");
}

TEST(MemoryCategories, WhatTheOptimizerKeepsIsItsState) {
  TrainingTrace made;
  add_steps(made);
  made.take(310, 0xa, 64);
  made.take(1310, 0xb, 64);
  made.give_back(2000, 0xb, 64);
  EXPECT_EQ(categories_of(made), "optimizer state, optimizer state");
}

TEST(MemoryCategories, AClosureOfTheOptimizerGoesForward) {
  TrainingTrace made;
  made.optimizer_step(90, 300);
  made.op("aten::linear", 100, 40, 0);
  made.take(110, 0xa, 64);
  made.op("aten::relu", 150, 40, 2);
  made.backward_node("AddmmBackward0", 250, 40, 1);
  made.give_back(260, 0xa, 64);
  made.take(270, 0xb, 64);
  made.op("aten::mul_", 300, 10);
  EXPECT_EQ(categories_of(made), "activation, gradient");
}

TEST(MemoryCategories, WhatTheDataLoaderGivesIsInput) {
  TrainingTrace made;
  add_steps(made);
  made.data_loader(50, 30);
  made.take(55, 0xa, 64);
  made.take(60, 0xb, 8);
  made.give_back(70, 0xb, 8);  // its own bookkeeping
  made.give_back(1060, 0xa, 64);
  made.op("aten::to", 1096, 2, 10);  // a copy of its result, which needs no gradient
  made.take(1097, 0xc, 64);
  EXPECT_EQ(categories_of(made), "input, temporary, input");
}

TEST(MemoryCategories, AWorkersFetchIsInput) {
  TrainingTrace made;
  made.mark("fetch", 10, 50);
  made.take(20, 0xa, 64);
  EXPECT_EQ(categories_of(made), "input");
}

TEST(MemoryCategories, MadeBeforeTrainingAreParametersAndData) {
  TrainingTrace made;
  add_steps(made);
  made.op("aten::empty", 10, 2);
  made.take(11, 0xa, 4000);
  made.op("aten::randn", 20, 2);
  made.take(21, 0xb, 4000);  // no gradient is as large
  made.op("aten::randn", 30, 2);
  made.take(31, 0xc, 64);  // a gradient is
  made.op("aten::randint", 40, 2);
  made.take(41, 0xd, 64);  // but this can have none
  made.take(260, 0xe, 64);
  made.give_back(3000, 0xa, 4000);  // as the program ends
  EXPECT_EQ(categories_of(made), "parameter, input, parameter, input, gradient");
}

TEST(MemoryCategories, MadeBetweenStepsAreParametersOnlyWithBothSigns) {
  TrainingTrace made;
  add_steps(made);
  made.op("aten::empty", 500, 2);
  made.take(501, 0xa, 64);  // another model's
  made.op("aten::randn", 510, 2);
  made.take(511, 0xb, 64);  // a batch that happens to be as large as a gradient
  made.take(260, 0xc, 64);
  EXPECT_EQ(categories_of(made), "gradient, parameter, input");
}

TEST(MemoryCategories, MemoryFromBeforeIsToldByItsEnd) {
  TrainingTrace made;
  add_steps(made);
  made.set_device(1, 0);
  made.set_next_total(1'000);
  made.give_back(92, 0xa, 10);    // in zero_grad
  made.give_back(210, 0xb, 10);   // going backward
  made.give_back(120, 0xc, 10);   // going forward
  made.give_back(1500, 0xd, 10);  // after an optimizer's step
  EXPECT_EQ(categories_of(made), "gradient, unknown, activation, parameter, parameter");
}

TEST(MemoryCategories, WithoutATrainingProgramNothingIsKnown) {
  TrainingTrace made;
  made.op("aten::mm", 10, 20);
  made.take(11, 0xa, 64);
  made.give_back(40, 0xa, 64);
  made.take(50, 0xb, 64);
  EXPECT_EQ(categories_of(made), "unknown, unknown");
}

TEST(MemoryCategories, ARecordingThatEndsGoingForwardHasActivations) {
  TrainingTrace made;
  add_steps(made);
  made.op("aten::linear", 2100, 40, 20);
  made.take(2110, 0xa, 64);
  made.op("aten::randn", 2145, 2);
  made.take(2146, 0xb, 64);
  made.op("aten::relu", 2150, 40, 22);
  EXPECT_EQ(categories_of(made), "activation, unknown");
}

}  // namespace
}  // namespace stepscope
