#include "analyze/device_slices.h"

#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"

namespace stepscope {
namespace {

TEST(WorkTypes, NamesOfManyMakersAreKnown) {
  const auto type = [](std::string_view name) { return find_work_type(SliceKind::kKernel, name); };
  EXPECT_EQ(type("volta_sgemm_128x64_nn"), WorkType::kCompute);
  EXPECT_EQ(type("triton_poi_fused_add_0"), WorkType::kCompute);
  EXPECT_EQ(type("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), WorkType::kCommunication);
  EXPECT_EQ(type("void ncclKernel_AllGather_RING_LL(…)"), WorkType::kCommunication);
  EXPECT_EQ(type("rcclGenericKernel"), WorkType::kCommunication);
  EXPECT_EQ(type("void vllm::cross_device_reduce_1stage<__half, 2>()"), WorkType::kCommunication);
  EXPECT_EQ(type("dma_request"), WorkType::kMemory);
  EXPECT_EQ(type("job_exe"), WorkType::kOther);
  EXPECT_EQ(type("event_wait"), WorkType::kNone);
  EXPECT_EQ(find_work_type(SliceKind::kMemcpy, "Memcpy HtoD"), WorkType::kMemory);
  EXPECT_EQ(find_work_type(SliceKind::kSync, "Stream Sync"), WorkType::kNone);
}

TEST(DeviceSlicesTest, WorkIsByStreamAndHasTheOutermostCallOfItsNumber) {
  HandMadeTrace made;
  made.launch(10, 30, 5);
  made.set_int(
      made.add(made.thread(), "cuLaunchKernel", "cuda_driver", SliceKind::kRuntime, 15, 10),
      "correlation", 5);
  const TrackId other = made.add_stream(0, 9);
  made.device_work(other, "b", SliceKind::kKernel, 90, 10, 6);  // not launched in the trace
  made.kernel("a", 50, 10, 5);
  const Trace trace = made.build();
  const auto work = DeviceSlices::of(trace);
  ASSERT_EQ(work->streams().size(), 2u);
  EXPECT_EQ(work->streams()[0].stream, 7);
  EXPECT_EQ(work->streams()[1].stream, 9);
  const DeviceSlice& first = work->of_stream(work->streams()[0])[0];
  EXPECT_EQ(trace.slice_name(SliceId{first.call}), "cudaLaunchKernel");
  EXPECT_EQ(work->of_stream(work->streams()[1])[0].call, kNoRow);
  EXPECT_EQ(work->launched(), 1u);
}

TEST(DeviceSlicesTest, TracksOfOneStreamAreOneStream) {
  HandMadeTrace made;
  for (const int64_t tid : {100, 101}) {
    const TrackId track = made.add_stream(17, tid);
    const SliceRef slice =
        made.add(track, "fba_mul", "mtia_ccp_events", SliceKind::kKernel, 1000 - tid, 5);
    made.set_int(slice, "stream", 4);
  }
  const Trace trace = made.build();
  const DeviceSlices work(trace);
  ASSERT_EQ(work.streams().size(), 1u);
  EXPECT_EQ(work.streams()[0].stream, 4);
  ASSERT_EQ(work.all().size(), 2u);
  EXPECT_LT(work.all()[0].start_ns, work.all()[1].start_ns);
}

}  // namespace
}  // namespace stepscope
