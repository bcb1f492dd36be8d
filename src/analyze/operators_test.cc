#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

Table make_operators(HandMadeTrace& made, std::string by = "") {
  const Trace trace = made.build();
  TableOptions options;
  options.by = std::move(by);
  Result<Table> table = operators(trace, options);
  EXPECT_TRUE(table.ok()) << table.status().message();
  return *std::move(table);
}

TEST(Operators, SelfTimeIsWhatDirectChildrenLeave) {
  HandMadeTrace made;
  made.op("aten::linear", 0, 100);
  made.op("aten::addmm", 10, 60);
  made.op("aten::expand", 20, 10);
  const Table table = make_operators(made);
  EXPECT_EQ(int_of(table, "aten::linear", "self_host_ns"), 40);
  EXPECT_EQ(int_of(table, "aten::linear", "total_host_ns"), 100);
  EXPECT_EQ(int_of(table, "aten::addmm", "self_host_ns"), 50);
  EXPECT_EQ(int_of(table, "aten::addmm", "mean_host_ns"), 60);
}

TEST(Operators, FlopsOfAConvolutionAreCountedOnceHoweverManyOperatorsItGoesThrough) {
  const auto add = [](HandMadeTrace& made, const char* name, int64_t start_ns, int64_t dur_ns) {
    const SliceRef slice = made.op(name, start_ns, dur_ns);
    made.set_json(slice, "Input Dims", "[[8,3,8,8],[16,3,3,3],[],[],[],[],[],[],[]]");
    made.set_json(slice, "Concrete Inputs",
                  std::string_view(name) == "aten::conv2d"
                      ? R"(["","","","[1, 1]","[1, 1]","[1, 1]","1"])"
                      : R"(["","","","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1"])");
  };
  HandMadeTrace made;
  add(made, "aten::conv2d", 0, 100);
  add(made, "aten::convolution", 10, 80);
  add(made, "aten::convolution", 200, 80);  // of a compiled module
  const Table table = make_operators(made);
  const int64_t flops = 2 * 8 * 8 * 8 * 3 * 3 * 3 * 16;
  EXPECT_EQ(int_of(table, "aten::conv2d", "flops"), flops);
  EXPECT_EQ(int_of(table, "aten::convolution", "flops"), flops);
}

TEST(Operators, OnlyChildOfTheSameNameIsOneCallWithItsParent) {
  HandMadeTrace made;
  made.op("aten::empty", 0, 100);
  made.op("aten::empty", 10, 80);
  made.op("aten::empty", 20, 60);
  made.op("aten::resize_", 30, 10);
  const Table table = make_operators(made);
  EXPECT_EQ(int_of(table, "aten::empty", "calls"), 1);
  EXPECT_EQ(int_of(table, "aten::empty", "total_host_ns"), 100);
  EXPECT_EQ(int_of(table, "aten::empty", "self_host_ns"), 90);
}

TEST(Operators, ChildOfTheSameNameWithSiblingsIsACallOfItsOwn) {
  HandMadeTrace made;
  made.op("aten::copy_", 0, 100);
  made.op("aten::copy_", 10, 20);
  made.op("aten::empty", 40, 20);
  const Table table = make_operators(made);
  EXPECT_EQ(int_of(table, "aten::copy_", "calls"), 2);
  EXPECT_EQ(int_of(table, "aten::copy_", "total_host_ns"), 120);
  EXPECT_EQ(int_of(table, "aten::copy_", "self_host_ns"), 80);
}

TEST(Operators, DeviceTimeGoesToTheInnermostOperatorOfTheLaunch) {
  HandMadeTrace made;
  made.op("aten::linear", 0, 100);
  made.op("aten::addmm", 10, 60);
  made.launch(20, 5, 7);
  made.kernel("volta_h884gemm", 500, 1000, 7);
  const Table table = make_operators(made);
  EXPECT_EQ(int_of(table, "aten::addmm", "self_device_ns"), 1000);
  EXPECT_EQ(int_of(table, "aten::linear", "self_device_ns"), 0);
  EXPECT_EQ(int_of(table, "aten::linear", "total_device_ns"), 1000);
  EXPECT_EQ(int_of(table, "aten::linear", "tensor_core_eligible"), 1);
  EXPECT_EQ(int_of(table, "aten::addmm", "self_host_ns"), 55);
  EXPECT_EQ(int_of(table, "cudaLaunchKernel", "calls"), 1);
}

TEST(Operators, WithoutRuntimeCallsDeviceWorkIsFoundByExternalId) {
  HandMadeTrace made;
  made.set_int(made.op("aten::mm", 0, 100), "External id", 17);
  const SliceRef kernel = made.kernel("volta_sgemm", 500, 1000, 7);
  made.set_int(kernel, "External id", 17);
  EXPECT_EQ(int_of(make_operators(made), "aten::mm", "self_device_ns"), 1000);
}

TEST(Operators, AnnotationsStepsAndPythonAreRowsAsInKeyAverages) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 100);
  made.annotation("forward", 10, 50);
  made.python("train.py(3): f", 15, 30);
  made.op("aten::mm", 20, 20);
  made.step("ProfilerStep#2", 100, 100);
  const Table table = make_operators(made);
  EXPECT_EQ(int_of(table, "ProfilerStep*", "calls"), 2);
  EXPECT_EQ(int_of(table, "ProfilerStep*", "self_host_ns"), 150);
  EXPECT_EQ(int_of(table, "forward", "self_host_ns"), 20);
  EXPECT_EQ(int_of(table, "train.py(3): f", "self_host_ns"), 10);
}

TEST(Operators, BookkeepingOfTheProfilerIsLookedThrough) {
  HandMadeTrace made;
  made.annotation("forward", 0, 100);
  made.op("profiler::_record_function_enter_new", 0, 10);
  made.op("aten::zeros", 2, 5);
  const Table table = make_operators(made);
  EXPECT_EQ(find_row(table, "name", "profiler::_record_function_enter_new"), SIZE_MAX);
  EXPECT_EQ(int_of(table, "forward", "self_host_ns"), 95);
}

TEST(Operators, OldTracesCountAsTensorBoardDid) {
  HandMadeTrace made(HandMadeTrace::Style::kOld);
  made.step("ProfilerStep#1", 0, 200);
  made.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 50);
  made.op("aten::stack", 10, 20);
  made.op("Optimizer.step#SGD.step", 60, 100);
  made.op("aten::add_", 70, 40);
  made.launch(80, 10, 3);
  made.kernel("add_kernel", 90, 5, 3);
  const Table table = make_operators(made);
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_EQ(int_of(table, "aten::add_", "self_host_ns"), 30);
  EXPECT_EQ(int_of(table, "aten::add_", "self_device_ns"), 5);
  EXPECT_EQ(int_of(table, "aten::stack", "self_host_ns"), 20);
}

TEST(Operators, ByShapeTellsCallsApartByTheirInputs) {
  HandMadeTrace made;
  made.set_json(made.op("aten::mm", 0, 10), "Input Dims", "[[8,16],[16,4]]");
  made.set_json(made.op("aten::mm", 10, 10), "Input Dims", "[[8, 16], [16, 4]]");
  made.set_json(made.op("aten::mm", 20, 10), "Input Dims", "[[1,2],[2,3]]");
  made.op("aten::mm", 30, 10);
  const Table table = make_operators(made, "shape");
  ASSERT_EQ(table.rows(), 3u);
  const size_t row = find_row(table, "input_shapes", "[[8, 16], [16, 4]]");
  EXPECT_EQ(int_at(table, "calls", row), 2);
  EXPECT_EQ(int_at(table, "flops", row), 2 * 1024);
  EXPECT_EQ(int_at(table, "calls", find_row(table, "input_shapes", "[]")), 1);
}

TEST(Operators, ByStackUsesTheCallStackOrThePythonCallsAround) {
  HandMadeTrace made;
  made.set_string(made.op("aten::mm", 0, 10), "Call stack", "a.py(1): f;a.py(9): <module>");
  made.python("b.py(9): <module>", 20, 100);
  made.python("b.py(1): g", 30, 50);
  made.op("aten::mm", 40, 10);
  const Table table = make_operators(made, "stack");
  EXPECT_EQ(int_at(table, "calls", find_row(table, "stack", "a.py(1): f;a.py(9): <module>")), 1);
  EXPECT_NE(find_row(table, "stack", "b.py(1): g;b.py(9): <module>"), SIZE_MAX);
}

TEST(Operators, ByStackToADepthJoinsWhatIsTheSameToThere) {
  HandMadeTrace made;
  for (const int64_t start : {0, 200}) {
    made.python(start == 0 ? "train" : "evaluate", start, 100);
    made.python("forward", start + 10, 50);
    made.op("aten::mm", start + 20, 10);
  }
  const Trace trace = made.build();
  TableOptions options;
  options.by = "stack";
  const Table whole = *operators(trace, options);
  EXPECT_EQ(int_at(whole, "calls", find_row(whole, "stack", "forward;train")), 1);
  options.depth = 2;
  const Table two = *operators(trace, options);
  EXPECT_EQ(int_at(two, "calls", find_row(two, "stack", "forward;evaluate")), 1);
  options.depth = 1;
  const Table one = *operators(trace, options);
  EXPECT_EQ(int_at(one, "calls", find_row(one, "stack", "forward")), 2);
}

TEST(Operators, ByStackABackwardOperatorHasTheForwardOnesStack) {
  HandMadeTrace made;
  made.python("train", 0, 1000);
  made.python("forward", 10, 50);
  const SliceRef forward = made.op("aten::mm", 20, 30);
  made.python("backward", 100, 500);
  const SliceRef backward = made.op("MmBackward0", 200, 100);
  made.op("aten::mm", 210, 10);
  made.builder().add_flow(forward, backward, 20, 200, 1,
                          made.builder().label("fwdbwd", "fwdbwd", SliceKind::kOther));
  const Trace trace = made.build();
  TableOptions options;
  options.by = "stack";
  options.depth = 1;
  const Table table = *operators(trace, options);
  const size_t row = find_row(table, "name", "MmBackward0");
  ASSERT_NE(row, SIZE_MAX);
  EXPECT_EQ(table.find("stack")->get_string(row), "forward");
  EXPECT_EQ(int_of(table, "aten::mm", "calls"), 2) << "both belong to the forward's line";
}

// One tenth of a second was recorded.
void add_sampling(HandMadeTrace& made) {
  const TrackId thread = made.builder().add_thread(ForeignId{1}, ForeignId{99});
  made.add(thread, "operators are sampled", "sampling", SliceKind::kOther, 0, 1'000'000'000);
  made.add(thread, "operators are recorded", "sampling", SliceKind::kOther, 500, 100'000'000);
}

TEST(Operators, ThatWereSampledAreScaledToTheWhole) {
  HandMadeTrace made;
  made.op("aten::linear", 1000, 100);
  made.set_json(made.op("aten::mm", 1010, 60), "Input Dims", "[[2, 3], [3, 4]]");
  made.allocate(1020, 64);
  add_sampling(made);
  const Table table = make_operators(made);
  EXPECT_EQ(int_of(table, "aten::mm", "calls"), 10);
  EXPECT_EQ(int_of(table, "aten::mm", "total_host_ns"), 600);
  EXPECT_EQ(int_of(table, "aten::mm", "mean_host_ns"), 60) << "of one call";
  EXPECT_EQ(int_of(table, "aten::linear", "self_host_ns"), 400);
  EXPECT_EQ(int_of(table, "aten::linear", "memory_bytes"), 640);
  EXPECT_EQ(int_of(table, "aten::mm", "flops"), 10 * 2 * 2 * 3 * 4);
  ASSERT_EQ(table.notes.size(), 1u);
  EXPECT_TRUE(table.notes[0].starts_with("operators were recorded in 10 % of the time"));
}

TEST(Operators, WhatIsRecordedAllTheTimeIsNotScaled) {
  HandMadeTrace made;
  made.python("a.py(1): f", 100, 500);
  made.annotation("Optimizer.step#SGD.step", 200, 100);
  made.op("aten::mm", 210, 10);
  made.allocate(5000, 64);  // in an operator that was not recorded, for all we know
  add_sampling(made);
  const Table table = make_operators(made);
  EXPECT_EQ(int_of(table, "a.py(1): f", "total_host_ns"), 500);
  EXPECT_EQ(int_of(table, "Optimizer.step#SGD.step", "calls"), 10);
  EXPECT_EQ(find_row(table, "name", "[memory]"), SIZE_MAX);
}

TEST(Operators, MemoryGoesToTheInnermostCallAndUpwards) {
  HandMadeTrace made;
  made.op("aten::linear", 0, 100);
  made.op("aten::empty", 10, 20);
  made.allocate(15, 4096);
  made.allocate(50, -96);
  made.allocate(500, 64);
  const Table table = make_operators(made);
  EXPECT_EQ(int_of(table, "aten::empty", "self_memory_bytes"), 4096);
  EXPECT_EQ(int_of(table, "aten::linear", "self_memory_bytes"), -96);
  EXPECT_EQ(int_of(table, "aten::linear", "memory_bytes"), 4000);
  EXPECT_EQ(int_of(table, "[memory]", "memory_bytes"), 64);
}

TEST(Operators, StreamGivesTheSameTimesAsTheLoadedTrace) {
  HandMadeTrace made;
  made.op("aten::linear", 0, 100);
  made.op("aten::addmm", 10, 60);
  made.launch(20, 5, 7);
  made.kernel("volta_sgemm", 500, 1000, 7);
  const Trace trace = made.build();
  TraceSliceStream stream(trace);
  const Result<Table> table = stream_operators(stream, {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(int_of(*table, "aten::addmm", "self_device_ns"), 1000);
  EXPECT_EQ(int_of(*table, "aten::linear", "self_host_ns"), 40);
}

TEST(Operators, RangeAndUnknownGroupingAreChecked) {
  HandMadeTrace made;
  made.op("aten::mm", 0, 10);
  made.op("aten::mm", 100, 10);
  const Trace trace = made.build();
  TableOptions options;
  options.range = {50, 1000};
  EXPECT_EQ(int_of(*operators(trace, options), "aten::mm", "calls"), 1);
  options.by = "colour";
  EXPECT_FALSE(operators(trace, options).ok());
}

TEST(Operators, TraceWithoutOperatorsSaysSo) {
  HandMadeTrace made;
  made.python("a.py(1): f", 0, 10);
  const Table table = make_operators(made);
  EXPECT_EQ(table.rows(), 0u);
  EXPECT_EQ(table.notes.size(), 1u);
}

}  // namespace
}  // namespace stepscope
