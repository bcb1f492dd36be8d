#include "trace/call_tree.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

std::string text(const CallTree& tree) {
  std::string lines;
  for (const uint32_t id : tree.heaviest_first()) {
    const CallTree::Node& node = tree.nodes()[id];
    lines += std::string(node.depth, ' ') + tree.function(node).name + " " +
             std::to_string(node.calls) + " " + std::to_string(node.total_ns) + " " +
             std::to_string(node.self_ns()) + "\n";
  }
  return lines;
}

class CallTreeTest : public testing::Test {
 protected:
  void call(int64_t tid, const char* name, int64_t start_ns, int64_t dur_ns,
            SliceKind kind = SliceKind::kPython) {
    builder.add_slice(builder.add_thread({1}, {tid}), start_ns, dur_ns,
                      builder.label(name, "", kind));
  }
  CallTree build(const SliceScope& scope = {}) {
    trace.emplace(std::move(builder).finish());
    return CallTree::build(*trace, scope);
  }

  TraceBuilder builder;
  std::optional<Trace> trace;
};

TEST_F(CallTreeTest, TakesFunctionsApart) {
  call(1, "/a/b.py(17): C.f", 0, 10);
  call(1, "<built-in method builtins.len>", 1, 3, SliceKind::kCall);
  const CallTree tree = build();
  EXPECT_EQ(tree.source(), CallTree::Source::kSlices);
  const CallTree::Function& python = tree.function(tree.nodes()[1]);
  EXPECT_EQ(python.text, "/a/b.py(17): C.f");
  EXPECT_EQ(python.name, "C.f");
  EXPECT_EQ(python.file, "/a/b.py");
  EXPECT_EQ(python.line, 17);
  const CallTree::Function& c = tree.function(tree.nodes()[2]);
  EXPECT_EQ(c.name, "<built-in method builtins.len>");
  EXPECT_EQ(c.file, "");
  EXPECT_EQ(tree.total_ns(), 10);
}

TEST_F(CallTreeTest, RecursionIsAPathAndNotALoop) {
  call(1, "f", 0, 100);
  call(1, "f", 10, 50);
  call(1, "f", 20, 20);
  call(1, "f", 70, 20);
  EXPECT_EQ(text(build()), "f 1 100 30\n f 2 70 50\n  f 1 20 20\n");
}

TEST_F(CallTreeTest, ThreadsAreMergedUnlessOneIsNamed) {
  call(1, "f", 0, 10);
  call(2, "f", 5, 30);
  call(2, "g", 6, 4);
  EXPECT_EQ(text(build()), "f 2 40 36\n g 1 4 4\n");
  EXPECT_EQ(text(CallTree::build(*trace, {.tracks = {1, 0}})), "f 1 10 10\n");
}

TEST_F(CallTreeTest, SumOfSelfTimesIsTheWhole) {
  for (int64_t i = 0; i < 1000; ++i) {
    call(1, i % 2 == 0 ? "even" : "odd", i * 100, 90);
    call(1, i % 3 == 0 ? "three" : "other", i * 100 + 10, 30);
    call(1, "leaf", i * 100 + 11, i % 7);
  }
  const CallTree tree = build();
  int64_t self_ns = 0;
  for (const CallTree::Node& node : tree.nodes()) {
    if (&node != tree.nodes().data()) self_ns += node.self_ns();
  }
  EXPECT_EQ(self_ns, 90'000);
  EXPECT_EQ(tree.total_ns(), 90'000);
  EXPECT_EQ(tree.nodes().size(), 1u + 2 + 4 + 4);
}

TEST_F(CallTreeTest, SixtyThousandLevelsAreSixtyThousandNodes) {
  constexpr int64_t kLevels = 60'000;
  for (int64_t i = 0; i < kLevels; ++i) call(1, "dive", i, 3 * kLevels - 2 * i);
  const CallTree tree = build();
  EXPECT_EQ(tree.nodes().size(), kLevels + 1u);
  EXPECT_EQ(tree.heaviest_first().size(), static_cast<size_t>(kLevels));
  EXPECT_EQ(tree.nodes().back().depth, kLevels - 1u);
}

TEST_F(CallTreeTest, SamplesAreCountedForEachFunctionOfTheirStack) {
  const TrackId thread = builder.add_thread({1}, {1});
  const FrameId main = builder.add_frame({builder.string("main"), builder.string("a.py"), 1});
  const FrameId work = builder.add_frame({builder.string("work"), builder.string("a.py"), 9});
  const FrameId idle = builder.add_frame({builder.string("idle"), kEmptyString, 0});
  const StackId outer = builder.add_stack({kNoStack, main});
  const StackId inner = builder.add_stack({outer, work});
  const StackId again = builder.add_stack({inner, work});
  builder.add_stack({outer, idle});
  builder.add_sample(thread, 10, outer, 100);
  builder.add_sample(thread, 20, inner, 200);
  builder.add_sample(thread, 30, again, 300);
  builder.add_sample(thread, 40, kNoStack, 1000);
  const CallTree tree = build();
  EXPECT_EQ(tree.source(), CallTree::Source::kSamples);
  EXPECT_EQ(text(tree), "main 3 600 100\n work 2 500 200\n  work 1 300 300\n");
  EXPECT_EQ(tree.function(tree.nodes()[2]).line, 9);
  EXPECT_EQ(tree.total_ns(), 600);
  EXPECT_EQ(text(CallTree::build(*trace, {}, 2)), "main 3 600 100\n work 2 500 200\n");
  EXPECT_EQ(text(CallTree::build(*trace, {.begin_ns = 15, .end_ns = 25})),
            "main 1 200 0\n work 1 200 200\n");
}

TEST_F(CallTreeTest, CallEdgesAloneMakeNoTree) {
  const FrameId f = builder.add_frame({builder.string("f"), kEmptyString, 0});
  builder.add_call_edge(kNoFrame, f, 1, 1, 10, 10);
  const CallTree tree = build();
  EXPECT_TRUE(tree.is_empty());
  EXPECT_EQ(tree.source(), CallTree::Source::kNothing);
}

TEST_F(CallTreeTest, LinesOfAFunctionDoNotSplitIt) {
  const TrackId thread = builder.add_thread({1}, {1});
  const FrameId main = builder.add_frame({builder.string("main"), builder.string("a.py"), 1});
  const FrameId work = builder.add_frame({builder.string("work"), builder.string("a.py"), 9});
  for (int32_t line = 1; line <= 4; ++line) {
    const StackId outer = builder.add_stack({kNoStack, main, line});
    builder.add_sample(thread, line, builder.add_stack({outer, work, 10 + line}), 10);
  }
  EXPECT_EQ(text(build()), "main 4 40 0\n work 4 40 40\n");
}

TEST_F(CallTreeTest, SamplesCountTheirCpuTimeWhereItIsKnown) {
  const TrackId thread = builder.add_thread({1}, {1});
  const FrameId work = builder.add_frame({builder.string("work"), kEmptyString, 9});
  const FrameId wait = builder.add_frame({builder.string("wait"), kEmptyString, 9});
  const StackId working = builder.add_stack({kNoStack, work});
  const StackId waiting = builder.add_stack({kNoStack, wait});
  builder.add_sample(thread, 0, working, 10, 7);
  builder.add_sample(thread, 10, working, 10, 9, kSampleHeldGil);
  builder.add_sample(thread, 20, waiting, 50, 0, kSampleWaited, 5);
  const CallTree tree = build();
  EXPECT_TRUE(tree.is_cpu_time());
  EXPECT_EQ(text(tree), "work 2 16 16\n");
  SliceScope scope;
  scope.sample_weight = SampleWeight::kWall;
  EXPECT_EQ(text(CallTree::build(*trace, scope)), "wait 5 50 50\nwork 2 20 20\n");
}

TEST_F(CallTreeTest, WhereNothingUsedTheCpuAllTimeCounts) {
  const TrackId thread = builder.add_thread({1}, {1});
  const FrameId wait = builder.add_frame({builder.string("wait"), kEmptyString, 9});
  builder.add_sample(thread, 20, builder.add_stack({kNoStack, wait}), 50, 0, kSampleWaited, 5);
  const CallTree tree = build();
  EXPECT_FALSE(tree.is_cpu_time());
  EXPECT_EQ(text(tree), "wait 5 50 50\n");
}

TEST(CallTree, SamplesGoBeforeMarksAndCallsGoBeforeSamples) {
  const auto tree_beside = [](SliceKind kind) {
    TraceBuilder builder;
    const TrackId thread = builder.add_thread({1}, {1});
    const FrameId work = builder.add_frame({builder.string("work"), kEmptyString, 9});
    builder.add_sample(thread, 20, builder.add_stack({kNoStack, work}), 50);
    builder.add_slice(thread, 0, 100, builder.label("mark", "", kind));
    return text(CallTree::build(std::move(builder).finish(), {}));
  };
  EXPECT_EQ(tree_beside(SliceKind::kAnnotation), "work 1 50 50\n");
  EXPECT_EQ(tree_beside(SliceKind::kOperator), "work 1 50 50\n");
  EXPECT_EQ(tree_beside(SliceKind::kPython), "mark 1 100 100\n");
}

}  // namespace
}  // namespace stepscope
