#include "advise/step_replay.h"

#include <gtest/gtest.h>

#include "advise/hand_made_gpu_loop.h"
#include "analyze/hand_made_loop.h"

namespace stepscope {
namespace {

constexpr int64_t kUs = 1000;

LabelId find_label(const Trace& trace, std::string_view name) {
  for (uint32_t i = 0; i < trace.labels().size(); ++i) {
    if (trace.string(trace.labels()[LabelId{i}].name) == name) return LabelId{i};
  }
  return LabelId{UINT32_MAX};
}

WhatIf without(const Trace& trace, std::string_view name) {
  WhatIf what_if(trace);
  EXPECT_TRUE(what_if.scale(name, 0));
  return what_if;
}

// A step: input 400, an operator 100 that launches a kernel of 300, a wait for it.
Trace make_waiting_loop() {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 4; ++i) {
    loop.begin_step().input(400).op("aten::mm", "sgemm", 100, 300).synchronize().end_step();
  }
  return loop.made.build();
}
constexpr int64_t kInputUs = 400;
constexpr int64_t kWaitingStepUs = 400 + 50 + 5 + 300 + 3;

TEST(StepReplay, GivesTheRecordedTimeWhereNothingChanges) {
  const Trace trace = make_waiting_loop();
  const auto replay = StepReplay::of(trace);
  EXPECT_EQ(replay->steps(), 4u);
  EXPECT_TRUE(replay->has_device_work());
  EXPECT_EQ(replay->step_ns(), kWaitingStepUs * kUs);
  EXPECT_EQ(replay->saved(WhatIf(trace)), 0);
}

TEST(StepReplay, LeavesOutTheInput) {
  const Trace trace = make_waiting_loop();
  const WhatIf what_if =
      without(trace, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  EXPECT_EQ(StepReplay::of(trace)->step_ns(what_if), (kWaitingStepUs - kInputUs) * kUs);
}

TEST(StepReplay, FasterKernelEndsTheWaitForItEarlier) {
  const Trace trace = make_waiting_loop();
  WhatIf what_if(trace);
  what_if.scale("sgemm", 0.5);
  EXPECT_EQ(StepReplay::of(trace)->step_ns(what_if), (kWaitingStepUs - 150) * kUs);
}

TEST(StepReplay, FasterOperatorLaunchesEarlierAndItsKernelIsFasterToo) {
  const Trace trace = make_waiting_loop();
  WhatIf what_if(trace);
  what_if.scale("aten::mm", 0.5);
  EXPECT_EQ(StepReplay::of(trace)->step_ns(what_if), (kWaitingStepUs - 25 - 150) * kUs);
}

TEST(StepReplay, FasterKernelSavesNothingWhereTheHostIsSlower) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 4; ++i) loop.begin_step().op("aten::mm", "sgemm", 500, 100).end_step();
  const Trace trace = loop.made.build();
  EXPECT_LT(StepReplay::of(trace)->saved(without(trace, "sgemm")), 0.01);
}

TEST(StepReplay, FasterHostSavesNothingWhereTheDeviceIsSlower) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 4; ++i) loop.begin_step().op("aten::mm", "sgemm", 100, 500).end_step();
  const Trace trace = loop.made.build();
  WhatIf what_if(trace);
  what_if.host[index(find_label(trace, "aten::mm"))] = 0;
  EXPECT_LT(StepReplay::of(trace)->saved(what_if), 0.05);  // of the first launch
}

TEST(StepReplay, KernelOfAFasterHostWaitsForTheOneBefore) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 4; ++i) {
    loop.begin_step()
        .op("aten::mm", "sgemm", 100, 300)
        .host(1000)
        .op("aten::relu", "relu", 100, 100)
        .synchronize()
        .end_step();
  }
  const Trace trace = loop.made.build();
  // 50 + 5 until sgemm begins, 300 + 100 on the stream, 3 for the wait's own.
  EXPECT_EQ(StepReplay::of(trace)->step_ns(without(trace, "aten::view")), 458 * kUs);
}

TEST(StepReplay, CopyFromPageableMemoryWaitsForWorkBeforeIt) {
  HandMadeGpuLoop loop;
  for (int i = 0; i < 4; ++i) {
    loop.begin_step().input(400).copy(50).op("aten::mm", "sgemm", 100, 300).end_step();
  }
  const Trace trace = loop.made.build();
  const auto replay = StepReplay::of(trace);
  const int64_t without_ns = replay->step_ns(
      without(trace, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"));
  // The copy can not begin before the kernel of the step before is done: 50, 2 until it returns,
  // 50 and 5 until the next kernel begins, 300. The host alone would need 157.
  EXPECT_NEAR(static_cast<double>(without_ns), 407e3, 10e3);
}

TEST(StepReplay, WaitIsLeftOutWithTheCallThatWaits) {
  const Trace trace = make_waiting_loop();
  WhatIf what_if = without(trace, "cudaStreamSynchronize");
  // Then only input and operator are in the way of the next step; the last one's kernel is late.
  const int64_t step_ns = StepReplay::of(trace)->step_ns(what_if);
  EXPECT_NEAR(static_cast<double>(step_ns), (500 + 255 / 4.) * kUs, 2 * kUs);
}

TEST(StepReplay, BeginOnOneStreamFollowsTheEndOnAnother) {
  HandMadeTrace made;
  const TrackId other = made.add_stream(0, 20);
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t at = i * 1000 * kUs;
    made.step("ProfilerStep#" + std::to_string(5 + i), at, 1000 * kUs);
    made.op("aten::mm", at, 100 * kUs);
    made.launch(at + 10 * kUs, 5 * kUs, 2 * i + 1);
    made.launch(at + 20 * kUs, 5 * kUs, 2 * i + 2);
    made.kernel("sgemm", at + 15 * kUs, 500 * kUs, 2 * i + 1);
    made.device_work(other, "ncclKernel_AllReduce", SliceKind::kKernel, at + 517 * kUs, 300 * kUs,
                     2 * i + 2);
    made.add(made.thread(), "cudaStreamSynchronize", "cuda_runtime", SliceKind::kRuntime,
             at + 100 * kUs, 720 * kUs);
  }
  const Trace trace = made.build();
  const auto replay = StepReplay::of(trace);
  EXPECT_EQ(replay->step_ns(), 1000 * kUs);
  // From 515 back to its own launch, at 20, and the 5 until a kernel begins.
  EXPECT_EQ(replay->step_ns(without(trace, "sgemm")), 510 * kUs);
}

TEST(StepReplay, BackwardPassOfAnotherThreadIsPartOfTheHost) {
  HandMadeTrace made;
  const TrackId engine = made.builder().add_thread(ForeignId{1}, ForeignId{2});
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t at = i * 1000 * kUs;
    made.step("ProfilerStep#" + std::to_string(5 + i), at, 1000 * kUs);
    made.op("aten::mm", at, 100 * kUs);
    made.add(engine, "autograd::engine::evaluate_function: MmBackward0", "cpu_op",
             SliceKind::kOperator, at + 200 * kUs, 600 * kUs);
  }
  const Trace trace = made.build();
  const auto replay = StepReplay::of(trace);
  WhatIf what_if(trace);
  what_if.scale("autograd::engine::evaluate_function: MmBackward0", 0.5);
  EXPECT_EQ(replay->step_ns(what_if), 700 * kUs);
}

TEST(StepReplay, IsTheTrainingThreadsTimeWithoutADevice) {
  HandMadeLoop loop;
  for (int i = 0; i < 8; ++i) loop.fetch().forward().backward().optimize();
  const Trace trace = loop.made.build();
  const auto replay = StepReplay::of(trace);
  EXPECT_FALSE(replay->has_device_work());
  WhatIf what_if = without(trace, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  EXPECT_EQ(replay->step_ns() - replay->step_ns(what_if), HandMadeLoop::kFetchNs);
}

TEST(StepReplay, InnermostLabelDecides) {
  HandMadeTrace made;
  for (int64_t i = 0; i < 4; ++i) {
    made.step("ProfilerStep#" + std::to_string(5 + i), i * 1000, 1000);
    made.op("aten::linear", i * 1000, 600);
    made.op("aten::addmm", i * 1000 + 100, 400);
  }
  const Trace trace = made.build();
  WhatIf what_if(trace);
  what_if.scale("aten::linear", 0);
  what_if.scale("aten::addmm", 0.5);
  EXPECT_EQ(StepReplay::of(trace)->step_ns(what_if), 1000 - 200 - 200);
}

TEST(StepReplay, IsEmptyWithoutSteps) {
  HandMadeTrace made;
  made.op("aten::mm", 0, 100);
  const Trace trace = made.build();
  const auto replay = StepReplay::of(trace);
  EXPECT_TRUE(replay->empty());
  EXPECT_EQ(replay->saved(WhatIf(trace)), 0);
}

TEST(WhatIf, KnowsFunctionsByTheirName) {
  HandMadeTrace made;
  made.python("train.py(41): augment", 0, 100);
  const Trace trace = made.build();
  WhatIf what_if(trace);
  EXPECT_TRUE(what_if.scale("augment", 0.5));
  EXPECT_FALSE(what_if.scale("nothing", 0.5));
}

}  // namespace
}  // namespace stepscope
