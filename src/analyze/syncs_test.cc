#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

SliceRef add_sync_call(HandMadeTrace& made, std::string_view name, int64_t start_ns, int64_t dur_ns,
                       int64_t correlation) {
  const SliceRef slice =
      made.add(made.thread(), name, "cuda_runtime", SliceKind::kRuntime, start_ns, dur_ns);
  made.set_int(slice, "correlation", correlation);
  return slice;
}

TEST(Syncs, ACallWaitsForTheWorkThatEndedLastWhileItRan) {
  HandMadeTrace made;
  made.op("aten::item", 90, 330);
  made.op("aten::_local_scalar_dense", 95, 320);
  add_sync_call(made, "cudaStreamSynchronize", 100, 310, 10);
  made.kernel("early", 0, 50, 1);
  made.kernel("gemm", 60, 340, 2);
  const Trace trace = made.build();
  const Result<Table> table = syncs(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(table->find("operator")->get_string(0), "aten::item");
  EXPECT_EQ(int_at(*table, "total_ns", 0), 310);
  EXPECT_EQ(int_at(*table, "wait_ns", 0), 300);
  EXPECT_EQ(table->find("waits_for")->get_string(0), "gemm");
}

TEST(Syncs, TheStreamOfASynchronisationEventIsTheOneThatIsWaitedFor) {
  HandMadeTrace made;
  add_sync_call(made, "cudaStreamSynchronize", 100, 300, 10);
  made.kernel("of stream 7", 0, 200, 1);
  made.device_work(made.add_stream(0, 9), "of stream 9", SliceKind::kKernel, 0, 390, 2);
  const SliceRef sync =
      made.add(made.thread(), "Stream Sync", "cuda_sync", SliceKind::kSync, 100, 300);
  made.set_int(sync, "correlation", 10);
  made.set_int(sync, "stream", 7);
  const Trace trace = made.build();
  const Result<Table> table = syncs(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(table->find("waits_for")->get_string(0), "of stream 7");
  EXPECT_EQ(int_at(*table, "wait_ns", 0), 100);
}

TEST(Syncs, OnlyCopiesThatTheHostWaitedForAreThere) {
  HandMadeTrace made;
  add_sync_call(made, "cudaMemcpyAsync", 0, 100, 1);
  add_sync_call(made, "cudaMemcpyAsync", 200, 100, 2);
  const TrackId stream = made.add_stream(0, 9);
  made.device_work(stream, "Memcpy DtoH", SliceKind::kMemcpy, 20, 70, 1);
  made.device_work(stream, "Memcpy HtoD", SliceKind::kMemcpy, 400, 70, 2);
  const Trace trace = made.build();
  TableOptions options;
  options.by = "call";
  const Result<Table> table = syncs(trace, options);
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(table->find("waits_for")->get_string(0), "Memcpy DtoH");
  EXPECT_EQ(int_at(*table, "wait_ns", 0), 90);
  EXPECT_EQ(int_at(*table, "stream", 0), 9);
}

TEST(Syncs, CallsOfSyclThatWaitForAQueueAreSynchronisations) {
  HandMadeTrace made;
  made.kernel("gemm", 60, 340, 2);
  for (const auto& [name, start_ns] :
       {std::pair("urQueueFinish", 100), std::pair("urEnqueueEventsWait", 500)}) {
    made.add(made.thread(), name, "xpu_runtime", SliceKind::kRuntime, start_ns, 310);
  }
  const Trace trace = made.build();
  const Result<Table> table = syncs(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(table->find("name")->get_string(0), "urQueueFinish");
  EXPECT_EQ(int_at(*table, "wait_ns", 0), 300);
}

TEST(Syncs, ASynchronisationWithNothingToWaitForWaitsForNothing) {
  HandMadeTrace made;
  add_sync_call(made, "hipDeviceSynchronize", 100, 5, 10);
  made.kernel("a", 0, 50, 1);
  const Trace trace = made.build();
  const Result<Table> table = syncs(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(int_at(*table, "wait_ns", 0), 0);
  EXPECT_TRUE(table->find("waits_for")->is_null(0));
}

}  // namespace
}  // namespace stepscope
