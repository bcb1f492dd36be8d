#include "analyze/render.h"
#include "analyze/views.h"
#include "trace/trace_builder.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

// The row's value as text, or "none".
std::string value(const Table& table, std::string_view section, std::string_view name) {
  for (size_t row = 0; row < table.rows(); ++row) {
    if (table.find("section")->get_string(row) != section) continue;
    if (table.find("name")->get_string(row) != name) continue;
    for (const char* column : {"value_ns", "value_bytes", "value_count"}) {
      if (!table.find(column)->is_null(row))
        return std::to_string(table.find(column)->get_int(row));
    }
    return table.find("value_text")->get_string(row);
  }
  return "none";
}

TEST(Overview, PutsTheMainFiguresTogether) {
  TraceBuilder builder;
  const TrackId host = builder.add_thread(ForeignId{1}, ForeignId{1});
  builder.add_thread(ForeignId{1}, ForeignId{2});
  const LabelId step = builder.label("ProfilerStep#1", "", SliceKind::kStep);
  const LabelId conv = builder.label("aten::conv2d", "cpu_op", SliceKind::kOperator);
  const LabelId add = builder.label("aten::add", "cpu_op", SliceKind::kOperator);
  builder.add_slice(host, 1000, 1000, step);
  builder.add_slice(host, 1100, 300, conv);
  builder.add_slice(host, 1500, 100, add);
  builder.add_allocation(host, {.time_ns = 1200, .bytes = 4096, .device_type = 0, .device_id = -1});
  builder.add_allocation(host,
                         {.time_ns = 1300, .bytes = -4096, .device_type = 0, .device_id = -1});
  builder.add_metadata("distributedInfo", R"({"backend": "nccl", "rank": 3, "world_size": 8})",
                       true);
  builder.set_source("/tmp/run/trace.json");
  builder.set_format("Kineto JSON");
  builder.stats().add(Stat::kEventsSkipped, 2);
  const auto table = overview(std::move(builder).finish(), {});
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(value(*table, "trace", "file"), "trace.json");
  EXPECT_EQ(value(*table, "trace", "span"), "1000");
  EXPECT_EQ(value(*table, "trace", "slices"), "3");
  EXPECT_EQ(value(*table, "trace", "tracks"), "1 thread");
  EXPECT_EQ(value(*table, "trace", "rank"), "3 of 8 (nccl)");
  EXPECT_EQ(value(*table, "trace", "events skipped"), "2");
  EXPECT_EQ(value(*table, "steps", "average step"), "1000");
  EXPECT_EQ(value(*table, "steps", "forward"), "500");
  EXPECT_EQ(value(*table, "steps", "idle"), "500");
  EXPECT_EQ(value(*table, "steps", "kernel"), "none");
  EXPECT_EQ(value(*table, "steps", "backward"), "none");
  EXPECT_EQ(value(*table, "top operators", "aten::conv2d"), "300");
  EXPECT_EQ(value(*table, "memory", "peak on CPU"), "4096");
  EXPECT_EQ(table->notes, std::vector<std::string>{"no device work in this trace"});
}

TEST(Overview, OfATraceWithoutKindsShowsItsFunctions) {
  TraceBuilder builder;
  const TrackId host = builder.add_thread(ForeignId{1}, ForeignId{1});
  builder.add_slice(host, 0, 100, builder.label("load", "", SliceKind::kOther));
  const auto table = overview(std::move(builder).finish(), {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(value(*table, "top functions", "load"), "100");
  EXPECT_EQ(value(*table, "steps", "steps"), "none");
}

TEST(Overview, BrokenMetadataIsLeftOut) {
  TraceBuilder builder;
  builder.add_metadata("distributedInfo", "{\"rank\": ", true);
  const auto table = overview(std::move(builder).finish(), {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(value(*table, "trace", "rank"), "none");
}

}  // namespace
}  // namespace stepscope
