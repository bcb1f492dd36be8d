#include "trace/trace_merger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

namespace stepscope {
namespace {

// A launch at 100 and its kernel at 200 on device 0, under correlation 5.
Trace make_rank(int64_t base_ns) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{77}, ForeignId{1});
  Track stream;
  stream.kind = TrackKind::kStream;
  stream.process = builder.add_process(ForeignId{0});
  stream.device = 0;
  const TrackId device = builder.add_track(stream);
  const ArgColumnRef correlation = builder.arg_column("correlation", ArgType::kInt);
  const SliceRef launch = builder.add_slice(
      thread, 100, 10, builder.label("cudaLaunchKernel", "cuda_runtime", SliceKind::kRuntime));
  const SliceRef kernel =
      builder.add_slice(device, 200, 50, builder.label("sgemm", "kernel", SliceKind::kKernel));
  builder.add_int(correlation, launch, 5);
  builder.add_int(correlation, kernel, 5);
  builder.add_flow(launch, kernel, 100, 200, 5, builder.label("ac2g", "ac2g", SliceKind::kOther));
  builder.set_clock_base_ns(base_ns);
  return std::move(builder).finish();
}

Trace merge() {
  TraceMerger merger;
  EXPECT_TRUE(merger.add(make_rank(1'000'000), 0, "rank 0"));
  EXPECT_TRUE(merger.add(make_rank(1'000'500), -20, "rank 1"));
  return std::move(merger).finish();
}

TEST(TraceMerger, PutsAllOnTheClockOfTheFirst) {
  const Trace trace = merge();
  ASSERT_EQ(trace.slices().size(), 4u);
  std::vector<int64_t> starts(trace.slices().start_ns.begin(), trace.slices().start_ns.end());
  std::sort(starts.begin(), starts.end());
  EXPECT_EQ(starts, (std::vector<int64_t>{100, 200, 580, 680}));
  EXPECT_EQ(trace.clock_base_ns(), 1'000'000);
}

TEST(TraceMerger, TellsProcessesAndDevicesOfRanksApart) {
  const Trace trace = merge();
  ASSERT_EQ(trace.processes().size(), 4u);
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = 0; b < a; ++b) {
      EXPECT_NE(trace.processes()[a].pid.number, trace.processes()[b].pid.number);
    }
  }
  EXPECT_EQ(trace.string(trace.processes()[0].name).substr(0, 7), "rank 0:");
  std::vector<int32_t> devices;
  for (const Track& track : trace.tracks()) {
    if (track.kind == TrackKind::kStream) devices.push_back(track.device);
  }
  EXPECT_EQ(devices, (std::vector<int32_t>{0, 1}));
}

TEST(TraceMerger, AKernelStillHasTheLaunchOfItsOwnRank) {
  const Trace trace = merge();
  const ArgColumn* correlations = trace.find_args("correlation", ArgType::kInt);
  ASSERT_NE(correlations, nullptr);
  ASSERT_EQ(correlations->rows.size(), 4u);
  std::map<int64_t, std::vector<int64_t>> starts;
  for (size_t i = 0; i < 4; ++i) {
    starts[correlations->ints[i]].push_back(trace.slices().start_ns[index(correlations->rows[i])]);
  }
  ASSERT_EQ(starts.size(), 2u);
  for (const auto& [id, pair] : starts) EXPECT_EQ(std::abs(pair[1] - pair[0]), 100);
  ASSERT_EQ(trace.flows().from.size(), 2u);
  EXPECT_NE(trace.flows().id[0], trace.flows().id[1]);
  EXPECT_EQ(trace.flows().to_ns[1] - trace.flows().from_ns[1], 100);
}

}  // namespace
}  // namespace stepscope
