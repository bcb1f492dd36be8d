#include "analyze/views.h"

#include "trace/trace_builder.h"

#include <gtest/gtest.h>

#include <set>

namespace stepscope {
namespace {

Trace make_trace() {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{7});
  for (int i = 0; i < 30; ++i) {
    const LabelId label = builder.label("f" + std::to_string(i), "", SliceKind::kCall);
    builder.add_slice(thread, i * 100, 10 + i, label);
  }
  builder.stats().add(Stat::kEventsSkipped, 3);
  return std::move(builder).finish();
}

TEST(Registry, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const View& view : views()) {
    EXPECT_TRUE(names.insert(view.name).second) << view.name;
    EXPECT_EQ(find_view(view.name), &view);
    EXPECT_FALSE(view.summary.empty());
  }
  EXPECT_EQ(find_view("nothing"), nullptr);
}

TEST(MakeView, UnknownViewIsAnErrorThatListsTheViews) {
  const auto table = make_view(make_trace(), "operator", {});
  ASSERT_FALSE(table.ok());
  EXPECT_TRUE(table.status().message().starts_with(
      "unknown view 'operator'; there are: overview, steps, phases, input, operators"));
}

TEST(MakeView, SortsAndLimitsByTheViewsDefaults) {
  const auto table = make_view(make_trace(), "functions", {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->rows(), 20u);
  EXPECT_EQ(table->rows_before_limit, 30u);
  EXPECT_EQ(table->find("name")->get_string(0), "f29");
}

TEST(MakeView, TakesFilterSortAndLimitAndCarriesTheStats) {
  TableOptions options;
  options.filter = "f1";
  options.sort = "name";
  options.limit = 2;
  const auto table = make_view(make_trace(), "functions", options);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->rows(), 2u);
  EXPECT_EQ(table->rows_before_limit, 11u);
  EXPECT_EQ(table->find("name")->get_string(0), "f1");
  EXPECT_EQ(table->find("name")->get_string(1), "f10");
  EXPECT_EQ(table->stats.get(Stat::kEventsSkipped), 3u);
}

TEST(MakeView, LimitZeroIsAllRows) {
  TableOptions options;
  options.limit = 0;
  EXPECT_EQ(make_view(make_trace(), "functions", options)->rows(), 30u);
}

TEST(MakeView, NegativeLimitIsAnError) {
  TableOptions options;
  options.limit = -7;
  EXPECT_FALSE(make_view(make_trace(), "functions", options).ok());
}

TEST(MakeView, OfAStreamEqualsThatOfTheTrace) {
  const Trace trace = make_trace();
  TraceSliceStream stream(trace);
  const auto table = make_view(stream, trace.stats(), "functions", {});
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->rows(), 20u);
  EXPECT_EQ(table->find("name")->get_string(0), "f29");
  EXPECT_EQ(make_view(stream, trace.stats(), "steps", {}).status().message(),
            "the view 'steps' needs the whole trace in memory");
}

TEST(MakeView, EveryViewMakesATableOfAnEmptyTrace) {
  TraceBuilder builder;
  const Trace empty = std::move(builder).finish();
  for (const View& view : views()) {
    const auto table = make_view(empty, view.name, {});
    EXPECT_TRUE(table.ok()) << view.name << ": " << table.status().message();
  }
}

}  // namespace
}  // namespace stepscope
