#include "analyze/views.h"
#include "trace/trace_builder.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

// Two threads: main { work { leaf, leaf }, work { leaf } } and work { leaf }.
Trace make_trace() {
  TraceBuilder builder;
  const TrackId a = builder.add_thread(ForeignId{1}, ForeignId{1});
  const TrackId b = builder.add_thread(ForeignId{1}, ForeignId{2});
  const LabelId main = builder.label("main", "", SliceKind::kCall);
  const LabelId work = builder.label("work", "", SliceKind::kCall);
  const LabelId work_of_user = builder.label("work", "user", SliceKind::kAnnotation);
  const LabelId leaf = builder.label("leaf", "", SliceKind::kCall);
  const LabelId instant = builder.label("tick", "", SliceKind::kInstant);
  builder.add_slice(a, 0, 1000, main);
  builder.add_slice(a, 100, 300, work);
  builder.add_slice(a, 110, 50, leaf);
  builder.add_slice(a, 120, 0, instant);
  builder.add_slice(a, 200, 60, leaf);
  builder.add_slice(a, 500, 200, work_of_user);
  builder.add_slice(a, 510, 40, leaf);
  builder.add_slice(b, 0, 90, work);
  builder.add_slice(b, 10, 30, leaf);
  return std::move(builder).finish();
}

std::string text(const Table& table) {
  std::string lines;
  for (size_t row = 0; row < table.rows(); ++row) {
    lines += std::string(static_cast<size_t>(table.find("depth")->get_int(row)), ' ') +
             table.find("name")->get_string(row) + " " +
             std::to_string(table.find("calls")->get_int(row)) + " " +
             std::to_string(table.find("total_ns")->get_int(row)) + " " +
             std::to_string(table.find("self_ns")->get_int(row)) + "\n";
  }
  return lines;
}

TEST(Tree, MergesSlicesByThePathOfTheirNames) {
  const auto table = tree(make_trace(), {});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(text(*table),
            "main 1 1000 500\n"
            " work 2 500 350\n"
            "  leaf 3 150 150\n"
            "work 1 90 60\n"
            " leaf 1 30 30\n");
  EXPECT_DOUBLE_EQ(table->find("fraction")->get_double(0), 1000.0 / 1090);
}

TEST(Tree, DepthCutsBelowButKeepsSelfTime) {
  TableOptions options;
  options.depth = 2;
  EXPECT_EQ(text(*tree(make_trace(), options)),
            "main 1 1000 500\n work 2 500 350\nwork 1 90 60\n leaf 1 30 30\n");
  options.depth = 1;
  EXPECT_EQ(text(*tree(make_trace(), options)), "main 1 1000 500\nwork 1 90 60\n");
}

TEST(Tree, ChildrenOfWhatTheRangeLeavesOutMoveUp) {
  TableOptions options;
  options.range = {450, 600};
  EXPECT_EQ(text(*tree(make_trace(), options)), "work 1 200 160\n leaf 1 40 40\n");
}

TEST(Tree, TakesOneTrack) {
  TableOptions options;
  options.track = "1";
  EXPECT_EQ(text(*tree(make_trace(), options)), "work 1 90 60\n leaf 1 30 30\n");
}

TEST(Tree, MergesStepsOverTheirNumbers) {
  TraceBuilder builder;
  const TrackId host = builder.add_thread(ForeignId{1}, ForeignId{1});
  const LabelId conv = builder.label("conv1", "", SliceKind::kOperator);
  for (int i = 0; i < 3; ++i) {
    const std::string name = "ProfilerStep#" + std::to_string(i);
    builder.add_slice(host, i * 100, 90, builder.label(name, "", SliceKind::kStep));
    builder.add_slice(host, i * 100 + 10, 20, conv);
  }
  EXPECT_EQ(text(*tree(std::move(builder).finish(), {})),
            "ProfilerStep#* 3 270 210\n conv1 3 60 60\n");
}

TEST(Tree, LeavesDeviceStreamsOutAndSaysSo) {
  TraceBuilder builder;
  const TrackId host = builder.add_thread(ForeignId{1}, ForeignId{1});
  const TrackId stream = builder.add_thread(ForeignId{0}, ForeignId{7});
  builder.track(stream).kind = TrackKind::kStream;
  builder.add_slice(host, 0, 10, builder.label("launch", "", SliceKind::kRuntime));
  builder.add_slice(stream, 20, 10, builder.label("gemm", "", SliceKind::kKernel));
  const auto table = tree(std::move(builder).finish(), {});
  EXPECT_EQ(text(*table), "launch 1 10 10\n");
  EXPECT_EQ(table->notes.size(), 1u);
}

TEST(Tree, IsMadeOfSamplesWhereThereAreNoSlices) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  const FrameId main = builder.add_frame({builder.string("main"), kEmptyString, 1});
  const FrameId work = builder.add_frame({builder.string("work"), kEmptyString, 2});
  const StackId outer = builder.add_stack({kNoStack, main});
  const StackId inner = builder.add_stack({outer, work});
  builder.add_sample(thread, 10, outer, 100);
  builder.add_sample(thread, 20, inner, 100);
  builder.add_sample(thread, 30, inner, 100);
  EXPECT_EQ(text(*tree(std::move(builder).finish(), {})), "main 3 300 100\n work 2 200 200\n");
}

TEST(Tree, HeaviestIsThePathThatHoldsHalfOfTheTimeAbove) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  const auto call = [&](const char* name, int64_t start_ns, int64_t dur_ns) {
    builder.add_slice(thread, start_ns, dur_ns, builder.label(name, "", SliceKind::kCall));
  };
  call("setup", 0, 100);
  call("main", 100, 900);
  call("load", 100, 150);
  call("train", 300, 600);
  call("forward", 300, 250);
  call("backward", 600, 290);
  const Trace trace = std::move(builder).finish();
  TableOptions options;
  options.heaviest = true;
  const auto table = tree(trace, options);
  EXPECT_EQ(text(*table), "main 1 900 150\n train 1 600 60\n");
  EXPECT_EQ(table->find("others_ns")->get_int(0), 150);
  EXPECT_EQ(table->find("others_ns")->get_int(1), 540);
  EXPECT_DOUBLE_EQ(table->find("fraction")->get_double(1), 0.6);
  EXPECT_EQ(table->notes,
            (std::vector<std::string>{"the path ends at train: it has 60.0% of the time, 6.0% "
                                      "itself; of what it calls, backward takes most, 29.0%"}));
  options.depth = 1;
  EXPECT_EQ(text(*tree(trace, options)), "main 1 900 150\n");
}

TEST(Tree, HeaviestFollowsADeepRecursionToItsEnd) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  const LabelId dive = builder.label("dive", "", SliceKind::kCall);
  constexpr int64_t kLevels = 70'000;
  for (int64_t i = 0; i < kLevels; ++i) builder.add_slice(thread, i, 2 * kLevels - i, dive);
  TableOptions options;
  options.heaviest = true;
  EXPECT_EQ(tree(std::move(builder).finish(), options)->rows(), static_cast<size_t>(kLevels));
}

}  // namespace
}  // namespace stepscope
