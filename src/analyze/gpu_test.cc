#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

constexpr int64_t kGpuUs = 1000;

// Computation 0..100 us and 300..400 us, communication 50..200 us, a copy 190..250 us.
HandMadeTrace make_overlapping() {
  HandMadeTrace made;
  made.launch(0, 1 * kGpuUs, 1);
  made.launch(280 * kGpuUs, 1 * kGpuUs, 2);
  made.kernel("gemm", 0, 100 * kGpuUs, 1);
  made.kernel("gemm", 300 * kGpuUs, 100 * kGpuUs, 2);
  const TrackId other = made.add_stream(0, 9);
  made.device_work(other, "ncclDevKernel_AllReduce", SliceKind::kKernel, 50 * kGpuUs, 150 * kGpuUs,
                   3);
  made.device_work(other, "Memcpy DtoH", SliceKind::kMemcpy, 190 * kGpuUs, 60 * kGpuUs, 4);
  return made;
}

TEST(Gpu, TimesAreUnionsAndNotSums) {
  const Trace trace = make_overlapping().build();
  const Result<Table> table = gpu(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(int_at(*table, "span_ns", 0), 400 * kGpuUs);
  EXPECT_EQ(int_at(*table, "busy_ns", 0), 350 * kGpuUs);
  EXPECT_EQ(int_at(*table, "idle_ns", 0), 50 * kGpuUs);
  EXPECT_EQ(int_at(*table, "compute_ns", 0), 200 * kGpuUs);
  EXPECT_EQ(int_at(*table, "non_compute_ns", 0), 150 * kGpuUs);
  EXPECT_EQ(int_at(*table, "communication_ns", 0), 150 * kGpuUs);
  EXPECT_EQ(int_at(*table, "memory_ns", 0), 60 * kGpuUs);
  EXPECT_EQ(int_at(*table, "overlap_ns", 0), 50 * kGpuUs);
  EXPECT_DOUBLE_EQ(table->find("overlap_fraction")->get_double(0), 1.0 / 3);
  // The launch at 280 us came after the device had become idle at 250 us.
  EXPECT_EQ(int_at(*table, "host_wait_ns", 0), 50 * kGpuUs);
}

TEST(Gpu, IdleTimeOfAStreamHasItsCauses) {
  HandMadeTrace made;
  made.launch(0, 1 * kGpuUs, 1);
  made.launch(1 * kGpuUs, 1 * kGpuUs, 2);
  made.launch(2 * kGpuUs, 1 * kGpuUs, 3);
  made.launch(300 * kGpuUs, 1 * kGpuUs, 4);
  made.kernel("a", 10 * kGpuUs, 10 * kGpuUs, 1);
  made.kernel("b", 30 * kGpuUs, 10 * kGpuUs, 2);   // 10 us: launched long ago, a short gap
  made.kernel("c", 100 * kGpuUs, 10 * kGpuUs, 3);  // 60 us: launched long ago, a long gap
  made.kernel("d", 310 * kGpuUs, 10 * kGpuUs, 4);  // 200 us: launched late
  const Trace trace = made.build();
  TableOptions options;
  options.by = "stream";
  const Result<Table> table = gpu(trace, options);
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(int_at(*table, "stream", 0), 7);
  EXPECT_EQ(int_at(*table, "calls", 0), 4);
  EXPECT_EQ(int_at(*table, "idle_ns", 0), 270 * kGpuUs);
  EXPECT_EQ(int_at(*table, "kernel_wait_ns", 0), 10 * kGpuUs);
  EXPECT_EQ(int_at(*table, "other_wait_ns", 0), 60 * kGpuUs);
  EXPECT_EQ(int_at(*table, "host_wait_ns", 0), 200 * kGpuUs);
}

TEST(Gpu, TypesHaveSumsOfDurations) {
  const Trace trace = make_overlapping().build();
  TableOptions options;
  options.by = "type";
  const Result<Table> table = make_view(trace, "gpu", options);
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 3u);
  EXPECT_EQ(table->find("type")->get_string(0), "compute");
  EXPECT_EQ(int_at(*table, "total_ns", 0), 200 * kGpuUs);
  EXPECT_EQ(table->find("type")->get_string(1), "communication");
  EXPECT_DOUBLE_EQ(table->find("fraction")->get_double(1), 150.0 / 410);
  EXPECT_EQ(table->find("longest")->get_string(2), "Memcpy DtoH");
}

TEST(Gpu, WorkBelongsToTheInnermostAnnotationOfTheDevice) {
  HandMadeTrace made;
  const TrackId stream = made.add_stream(0, 9);
  made.add(stream, "forward", "gpu_user_annotation", SliceKind::kDeviceAnnotation, 0, 100);
  made.add(stream, "attention", "gpu_user_annotation", SliceKind::kDeviceAnnotation, 10, 50);
  made.device_work(stream, "a", SliceKind::kKernel, 20, 10, 1);
  made.device_work(stream, "b", SliceKind::kKernel, 70, 20, 2);
  made.device_work(stream, "c", SliceKind::kKernel, 200, 5, 3);
  const Trace trace = made.build();
  TableOptions options;
  options.by = "annotation";
  const Result<Table> table = make_view(trace, "gpu", options);
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 3u);
  EXPECT_EQ(table->find("annotation")->get_string(0), "forward");
  EXPECT_EQ(int_at(*table, "total_ns", 0), 20);
  EXPECT_EQ(table->find("annotation")->get_string(1), "attention");
  EXPECT_TRUE(table->find("annotation")->is_null(2));
}

TEST(Gpu, WithoutAnnotationsOfTheDeviceThoseAroundTheLaunchCount) {
  HandMadeTrace made;
  made.annotation("loss", 0, 100);
  made.launch(10, 10, 1);
  made.kernel("a", 200, 10, 1);
  const Trace trace = made.build();
  TableOptions options;
  options.by = "annotation";
  const Result<Table> table = gpu(trace, options);
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(table->find("annotation")->get_string(0), "loss");
  EXPECT_FALSE(table->notes.empty());
}

TEST(Gpu, WhatIsMissingIsSaid) {
  HandMadeTrace without_device;
  without_device.op("aten::mm", 0, 10);
  const Trace host_only = without_device.build();
  const Result<Table> empty = gpu(host_only, {});
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->rows(), 0u);
  ASSERT_EQ(empty->notes.size(), 1u);
  HandMadeTrace without_launches;
  without_launches.kernel("a", 0, 10, 1);
  const Trace device_only = without_launches.build();
  const Result<Table> table = gpu(device_only, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->notes.size(), 1u);
  EXPECT_TRUE(table->notes[0].starts_with("no launch of any device work is known"));
}

TEST(Gpu, OtherGroupingsAreRefused) {
  HandMadeTrace made;
  const Trace trace = made.build();
  TableOptions options;
  options.by = "shape";
  EXPECT_FALSE(gpu(trace, options).ok());
}

}  // namespace
}  // namespace stepscope
