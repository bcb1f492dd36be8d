#include "analyze/critical_path.h"

#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

constexpr int64_t kPathUs = 1000;

uint64_t count_edges(const CriticalPath& path, CriticalEdgeType type) {
  uint64_t count = 0;
  for (const CriticalEdge& edge : path.graph.edges()) count += edge.type == type;
  return count;
}

std::vector<std::string_view> names_on_path(const Trace& trace, const CriticalPath& path) {
  std::vector<std::string_view> names;
  for (const uint32_t row : path.find_rows()) names.push_back(trace.slice_name(SliceId{row}));
  return names;
}

bool is_on_path(const Trace& trace, const CriticalPath& path, std::string_view name) {
  const auto names = names_on_path(trace, path);
  return std::find(names.begin(), names.end(), name) != names.end();
}

SliceRef runtime_call(HandMadeTrace& made, std::string_view name, int64_t start_ns, int64_t dur_ns,
                      int64_t correlation) {
  const SliceRef slice =
      made.add(made.thread(), name, "cuda_runtime", SliceKind::kRuntime, start_ns, dur_ns);
  made.set_int(slice, "correlation", correlation);
  return slice;
}

// aten::mm 0..100 us launches a kernel of 500 us; the host waits for it until 640 us.
HandMadeTrace make_device_bound() {
  HandMadeTrace made;
  made.op("aten::mm", 0, 100 * kPathUs);
  made.launch(20 * kPathUs, 10 * kPathUs, 1);
  made.kernel("gemm", 130 * kPathUs, 500 * kPathUs, 1);
  runtime_call(made, "cudaDeviceSynchronize", 110 * kPathUs, 530 * kPathUs, 2);
  return made;
}

TEST(CriticalPathTest, GoesThroughTheLaunchAndTheKernelThatTheHostWaitsFor) {
  HandMadeTrace made = make_device_bound();
  const SliceRef sync = made.add(made.thread(), "Context Sync", "cuda_sync", SliceKind::kSync,
                                 110 * kPathUs, 525 * kPathUs);
  made.set_int(sync, "correlation", 2);
  made.set_int(sync, "stream", -1);
  const Trace trace = made.build();
  const Result<CriticalPath> path = CriticalPath::find(trace, "");
  ASSERT_TRUE(path.ok());
  EXPECT_TRUE(is_on_path(trace, *path, "gemm"));
  // 20 us of aten::mm, 110 us until the kernel begins, 500 us of the kernel.
  EXPECT_EQ(path->length_ns(), 630 * kPathUs);
  EXPECT_EQ(path->edges.size() + 1, path->nodes.size());
  EXPECT_EQ(count_edges(*path, CriticalEdgeType::kLaunch), 1u);
  EXPECT_EQ(count_edges(*path, CriticalEdgeType::kSync), 1u);
  EXPECT_TRUE(path->graph.has_sync_events());
}

TEST(CriticalPathTest, WithoutSynchronisationEventsWaitsAreInferredAndThatIsSaid) {
  const Trace trace = make_device_bound().build();
  const Result<Table> table = critical_path(trace, {});
  ASSERT_TRUE(table.ok());
  const size_t row = find_row(*table, "bound_by", "gpu_compute_bound");
  EXPECT_EQ(int_at(*table, "total_ns", row), 500 * kPathUs);
  EXPECT_EQ(int_at(*table, "total_ns", find_row(*table, "bound_by", "cpu_bound")), 20 * kPathUs);
  EXPECT_EQ(int_at(*table, "total_ns", find_row(*table, "bound_by", "gpu_kernel_launch_overhead")),
            110 * kPathUs);
  ASSERT_EQ(table->notes.size(), 2u);
  EXPECT_TRUE(table->notes[1].find("inferred") != std::string::npos);
}

TEST(CriticalPathTest, WorkThatWasLaunchedInTimeFollowsTheWorkBeforeIt) {
  HandMadeTrace made;
  made.op("aten::mm", 0, 100 * kPathUs);
  made.launch(10 * kPathUs, 10 * kPathUs, 1);
  made.launch(60 * kPathUs, 10 * kPathUs, 2);
  made.kernel("first", 50 * kPathUs, 400 * kPathUs, 1);
  made.kernel("second", 455 * kPathUs, 300 * kPathUs, 2);
  const Trace trace = made.build();
  const Result<CriticalPath> path = CriticalPath::find(trace, "");
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(count_edges(*path, CriticalEdgeType::kKernelKernel), 1u);
  EXPECT_EQ(path->length_ns(), 755 * kPathUs);
  TableOptions options;
  options.by = "edge";
  const Result<Table> edges = critical_path(trace, options);
  ASSERT_TRUE(edges.ok());
  EXPECT_EQ(edges->find("to")->get_string(edges->rows() - 1), "end of second");
}

TEST(CriticalPathTest, AnEventMakesAStreamWaitForAnother) {
  HandMadeTrace made;
  const TrackId other = made.add_stream(0, 9);
  made.op("aten::copy_", 0, 100 * kPathUs);
  made.launch(10 * kPathUs, 5 * kPathUs, 1);
  runtime_call(made, "cudaEventRecord", 20 * kPathUs, 5 * kPathUs, 2);
  runtime_call(made, "cudaStreamWaitEvent", 30 * kPathUs, 5 * kPathUs, 3);
  made.launch(40 * kPathUs, 5 * kPathUs, 4);
  made.kernel("source", 30 * kPathUs, 400 * kPathUs, 1);
  made.device_work(other, "waiting", SliceKind::kKernel, 440 * kPathUs, 100 * kPathUs, 4);
  const SliceRef wait = made.add(other, "Stream Wait Event", "cuda_sync", SliceKind::kSync,
                                 35 * kPathUs, 2 * kPathUs);
  made.set_int(wait, "correlation", 3);
  made.set_int(wait, "stream", 9);
  made.set_int(wait, "wait_on_stream", 7);
  made.set_int(wait, "wait_on_cuda_event_record_corr_id", 2);
  const Trace trace = made.build();
  const Result<CriticalPath> path = CriticalPath::find(trace, "");
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(count_edges(*path, CriticalEdgeType::kSync), 1u);
  EXPECT_TRUE(is_on_path(trace, *path, "source"));
  EXPECT_TRUE(is_on_path(trace, *path, "waiting"));
}

TEST(CriticalPathTest, IsOfOneScopeWhereThatIsAskedFor) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 100 * kPathUs);
  made.op("aten::add", 10 * kPathUs, 20 * kPathUs);
  made.step("ProfilerStep#2", 100 * kPathUs, 100 * kPathUs);
  made.op("aten::mul", 110 * kPathUs, 50 * kPathUs);
  const Trace trace = made.build();
  const Result<CriticalPath> first = CriticalPath::find(trace, "ProfilerStep");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(names_on_path(trace, *first), (std::vector<std::string_view>{"aten::add"}));
  const Result<CriticalPath> second = CriticalPath::find(trace, "ProfilerStep@1");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(names_on_path(trace, *second), (std::vector<std::string_view>{"aten::mul"}));
  EXPECT_EQ(CriticalPath::find(trace, "ProfilerStep@2").status().message(),
            "--within ProfilerStep@2: there are 2 scopes of such a name");
}

TEST(CriticalPathTest, TimeOfNestedOperatorsBelongsToTheInnermost) {
  HandMadeTrace made;
  made.op("outer", 0, 100 * kPathUs);
  made.op("first", 10 * kPathUs, 20 * kPathUs);
  made.op("second", 50 * kPathUs, 40 * kPathUs);
  const Trace trace = made.build();
  TableOptions options;
  options.by = "event";
  const Result<Table> table = critical_path(trace, options);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(int_of(*table, "outer", "total_ns"), 40 * kPathUs);
  EXPECT_EQ(int_of(*table, "first", "total_ns"), 20 * kPathUs);
  EXPECT_EQ(int_of(*table, "second", "total_ns"), 40 * kPathUs);
}

TEST(CriticalPathTest, SlicesThatOverlapAndClocksThatDisagreeStillHaveAPath) {
  HandMadeTrace made;
  made.op("a", 0, 100 * kPathUs);
  made.op("b", 50 * kPathUs, 100 * kPathUs);
  made.launch(60 * kPathUs, 60 * kPathUs, 1);
  made.kernel("early", 10 * kPathUs, 500 * kPathUs, 1);
  runtime_call(made, "cudaDeviceSynchronize", 130 * kPathUs, 300 * kPathUs, 2);
  const Trace trace = made.build();
  const Result<CriticalPath> path = CriticalPath::find(trace, "");
  ASSERT_TRUE(path.ok());
  EXPECT_GE(path->nodes.size(), 2u);
  for (const CriticalEdge& edge : path->graph.edges()) EXPECT_GE(edge.weight_ns, 0);
}

TEST(CriticalPathTest, AnEmptyTraceHasNoneAndSaysSo) {
  HandMadeTrace made;
  const Trace trace = made.build();
  const Result<Table> table = critical_path(trace, {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->rows(), 0u);
  EXPECT_EQ(table->notes.size(), 1u);
}

}  // namespace
}  // namespace stepscope
