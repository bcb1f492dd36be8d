#include "analyze/views.h"
#include "trace/trace_builder.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Tracks, BusyTimeCountsEveryMomentOnce) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{2});
  const LabelId label = builder.label("f", "", SliceKind::kCall);
  builder.add_slice(thread, 1000, 100, label);  // holds the next
  builder.add_slice(thread, 1010, 20, label);
  builder.add_slice(thread, 1050, 100, label);  // overlaps by half
  builder.add_slice(thread, 1300, 100, label);
  const TrackId counter = builder.add_counter(ForeignId{1}, builder.string("memory"), kEmptyString);
  builder.add_counter_value(counter, 1000, 1.0);
  builder.add_counter_value(counter, 1100, 2.0);
  const Trace trace = std::move(builder).finish();

  const auto table = tracks(trace, {});
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->rows(), 2u);
  EXPECT_EQ(table->find("slices")->get_int(0), 4);
  EXPECT_EQ(table->find("busy_ns")->get_int(0), 250);
  EXPECT_EQ(table->find("begin_ns")->get_int(0), 0);
  EXPECT_EQ(table->find("end_ns")->get_int(0), 400);
  EXPECT_DOUBLE_EQ(table->find("busy_fraction")->get_double(0), 250.0 / 400);
  EXPECT_TRUE(table->find("counter_values")->is_null(0));
  EXPECT_EQ(table->find("kind")->get_string(1), "counter");
  EXPECT_EQ(table->find("counter_values")->get_int(1), 2);
  EXPECT_TRUE(table->find("begin_ns")->is_null(1));
}

}  // namespace
}  // namespace stepscope
