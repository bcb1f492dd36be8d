#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"
#include "analyze/views.h"

namespace stepscope {
namespace {

TEST(Copies, BandwidthIsOfAllBytesAndOfSingleCopies) {
  HandMadeTrace made;
  const TrackId stream = made.add_stream(0, 9);
  constexpr std::string_view kName = "Memcpy HtoD (Pageable -> Device)";
  const SliceRef slow = made.device_work(stream, kName, SliceKind::kMemcpy, 0, 3000, 1);
  const SliceRef fast = made.device_work(stream, kName, SliceKind::kMemcpy, 5000, 1000, 2);
  made.set_int(slow, "bytes", 3000);
  made.set_int(fast, "bytes", 5000);
  made.set_double(fast, "memory bandwidth (GB/s)", 5.5);
  const Trace trace = made.build();
  const Result<Table> table = copies(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 1u);
  EXPECT_EQ(table->find("direction")->get_string(0), "HtoD");
  EXPECT_EQ(int_at(*table, "calls", 0), 2);
  EXPECT_EQ(int_at(*table, "bytes", 0), 8000);
  EXPECT_DOUBLE_EQ(table->find("bytes_per_s")->get_double(0), 2e9);
  EXPECT_DOUBLE_EQ(table->find("mean_bytes_per_s")->get_double(0), (1e9 + 5.5e9) / 2);
  EXPECT_DOUBLE_EQ(table->find("max_bytes_per_s")->get_double(0), 5.5e9);
}

TEST(Copies, DirectionsOfMtiaAreInAnArgument) {
  HandMadeTrace made;
  const TrackId stream = made.add_stream(0, 9);
  for (const auto& [direction, start_ns] :
       {std::pair("HOST_TO_DEVICE", 0), std::pair("DEVICE_TO_HOST", 100),
        std::pair("HOST_TO_DEVICE", 200)}) {
    const SliceRef slice =
        made.device_work(stream, "dma_request", SliceKind::kMemcpy, start_ns, 10, 0);
    made.set_string(slice, "direction", direction);
    made.set_int(slice, "size", 64);
  }
  const Trace trace = made.build();
  const Result<Table> table = copies(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 2u);
  const size_t to_device = find_row(*table, "direction", "HtoD");
  EXPECT_EQ(int_at(*table, "calls", to_device), 2);
  EXPECT_EQ(int_at(*table, "bytes", to_device), 128);
  EXPECT_EQ(int_at(*table, "calls", find_row(*table, "direction", "DtoH")), 1);
}

TEST(Copies, OverTimeThoseThatRunAddUp) {
  HandMadeTrace made;
  const TrackId first = made.add_stream(0, 9);
  const TrackId second = made.add_stream(0, 10);
  made.set_int(made.device_work(first, "Memcpy DtoH", SliceKind::kMemcpy, 0, 4000, 1), "bytes",
               4000);
  made.set_int(made.device_work(second, "Memcpy DtoH", SliceKind::kMemcpy, 2000, 4000, 2), "bytes",
               8000);
  const Trace trace = made.build();
  TableOptions options;
  options.by = "time";
  const Result<Table> table = copies(trace, options);
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 4u);
  const Column& rate = *table->find("bytes_per_s");
  EXPECT_DOUBLE_EQ(rate.get_double(0), 1e9);
  EXPECT_DOUBLE_EQ(rate.get_double(1), 3e9);
  EXPECT_DOUBLE_EQ(rate.get_double(2), 2e9);
  EXPECT_DOUBLE_EQ(rate.get_double(3), 0);
}

TEST(Copies, WithoutSizesThereIsNoBandwidthAndThatIsSaid) {
  HandMadeTrace made;
  made.device_work(made.add_stream(2, 0), "Memcpy HtoD (Host -> Device)", SliceKind::kMemcpy, 0, 9,
                   1);
  const Trace trace = made.build();
  const Result<Table> table = copies(trace, {});
  ASSERT_TRUE(table.ok());
  EXPECT_TRUE(table->find("bytes")->is_null(0));
  EXPECT_TRUE(table->find("bytes_per_s")->is_null(0));
  EXPECT_EQ(table->notes.size(), 1u);
}

}  // namespace
}  // namespace stepscope
