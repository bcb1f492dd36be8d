#include "analyze/views.h"
#include "trace/function_name.h"
#include "trace/trace_builder.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

std::string text(Table table) {
  std::string lines;
  for (size_t row = 0; row < table.rows(); ++row) {
    const auto number = [&](const char* name) {
      const Column* column = table.find(name);
      return column->is_null(row) ? std::string("-") : std::to_string(column->get_int(row));
    };
    lines += table.find("name")->get_string(row) + " " + number("calls") + "/" +
             number("primitive_calls") + " self " + number("self_ns") + " total " +
             number("total_ns") + "\n";
  }
  return lines;
}

TEST(Functions, RecursionIsCountedOnceInTotalTime) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  const LabelId fib = builder.label("fib.py(1): fib", "python_function", SliceKind::kPython);
  const LabelId add = builder.label("aten::add", "cpu_op", SliceKind::kOperator);
  builder.add_slice(thread, 0, 100, fib);
  builder.add_slice(thread, 10, 50, fib);
  builder.add_slice(thread, 20, 5, add);
  builder.add_slice(thread, 200, 30, fib);
  const auto table = functions(std::move(builder).finish(), {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(text(*table), "fib 3/2 self 125 total 130\n");
  EXPECT_EQ(table->find("file")->get_string(0), "fib.py");
  EXPECT_EQ(table->find("line")->get_int(0), 1);
}

TEST(Functions, ByThreadHasARowPerThread) {
  TraceBuilder builder;
  const LabelId f = builder.label("f", "", SliceKind::kCall);
  builder.add_slice(builder.add_thread(ForeignId{1}, ForeignId{1}), 0, 100, f);
  builder.add_slice(builder.add_thread(ForeignId{1}, ForeignId{2}), 0, 50, f);
  TableOptions options;
  options.by = "thread";
  const Trace trace = std::move(builder).finish();
  const auto table = functions(trace, options);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(text(*table), "f 1/1 self 100 total 100\nf 1/1 self 50 total 50\n");
  EXPECT_EQ(table->find("thread")->get_string(1), "2");
  options.by = "shape";
  EXPECT_FALSE(functions(trace, options).ok());
}

TEST(Functions, EveryNameIsAFunctionWhereKindsAreUnknown) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  builder.add_slice(thread, 0, 100, builder.label("load", "", SliceKind::kOther));
  EXPECT_EQ(text(*functions(std::move(builder).finish(), {})), "load 1/1 self 100 total 100\n");
}

TEST(Functions, TraceWithoutAnySaysHowToGetThem) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  builder.add_slice(thread, 0, 100, builder.label("aten::add", "", SliceKind::kOperator));
  builder.add_slice(thread, 200, 100, builder.label("load", "", SliceKind::kOther));
  const auto table = functions(std::move(builder).finish(), {});
  EXPECT_EQ(table->rows(), 0u);
  EXPECT_EQ(table->notes.size(), 1u);
}

TEST(Functions, ComeFromCallEdges) {
  TraceBuilder builder;
  const FrameId main = builder.add_frame({builder.string("main"), builder.string("a.py"), 1});
  const FrameId work = builder.add_frame({builder.string("work"), builder.string("a.py"), 9});
  builder.add_call_edge(kNoFrame, main, 1, 1, 10, 100);
  builder.add_call_edge(kNoFrame, work, 5, 3, 90, 90);
  builder.add_call_edge(main, work, 3, 3, 50, 90);
  EXPECT_EQ(text(*functions(std::move(builder).finish(), {})),
            "main 1/1 self 10 total 100\nwork 5/3 self 90 total 90\n");
}

TEST(Functions, ComeFromSamplesWithoutCalls) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  const FrameId main = builder.add_frame({builder.string("main"), kEmptyString, 1});
  const FrameId work = builder.add_frame({builder.string("work"), kEmptyString, 2});
  const StackId outer = builder.add_stack({kNoStack, main});
  const StackId inner = builder.add_stack({outer, work});
  const StackId recursive = builder.add_stack({inner, work});
  builder.add_sample(thread, 10, outer, 100);
  builder.add_sample(thread, 20, inner, 200);
  builder.add_sample(thread, 30, recursive, 400);
  EXPECT_EQ(text(*functions(std::move(builder).finish(), {})),
            "main -/- self 100 total 700\nwork -/- self 600 total 600\n");
}

TEST(StreamFunctions, EqualsTheTableOfTheWholeTrace) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  for (int i = 0; i < 50; ++i) {
    const LabelId label = builder.label("f" + std::to_string(i % 7), "", SliceKind::kCall);
    builder.add_slice(thread, i * 10, i % 5 == 0 ? 50 : 9, label);
  }
  const Trace trace = std::move(builder).finish();
  TraceSliceStream stream(trace);
  EXPECT_EQ(text(*stream_functions(stream, {})), text(*functions(trace, {})));
  TableOptions options;
  options.track = "1";
  EXPECT_FALSE(stream_functions(stream, options).ok());
}

}  // namespace
}  // namespace stepscope
