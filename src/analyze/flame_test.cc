#include "analyze/flame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analyze/hand_made_trace.h"

namespace stepscope {
namespace {

// "main 100/20 x1;  f 80/80 x2": name, total/self, calls, indented by level.
std::string text_of(const Flame& flame) {
  std::string text;
  for (size_t row = 0; row < flame.nodes.size(); ++row) {
    for (int32_t at = flame.nodes.parent[row]; at >= 0;
         at = flame.nodes.parent[static_cast<size_t>(at)]) {
      text += ' ';
    }
    text += flame.functions[flame.nodes.function[row]].name + ' ' +
            std::to_string(flame.nodes.total_ns[row]) + '/' +
            std::to_string(flame.nodes.self_ns[row]) + " x" +
            std::to_string(flame.nodes.calls[row]) + '\n';
  }
  return text;
}

uint32_t id_of(const Flame& flame, std::string_view name) {
  const auto at = std::find_if(flame.functions.begin(), flame.functions.end(),
                               [&](const FlameFunction& f) { return f.name == name; });
  return at == flame.functions.end() ? UINT32_MAX : at->id;
}

// main calls work twice; work calls itself and helper, which main calls as well.
Trace make_calls() {
  HandMadeTrace made;
  made.python("a.py(1): main", 0, 1'000);
  made.python("a.py(5): work", 100, 300);
  made.python("a.py(5): work", 110, 100);
  made.python("a.py(9): helper", 120, 50);
  made.python("a.py(9): helper", 500, 100);
  made.python("a.py(5): work", 700, 200);
  return made.build();
}

TEST(Flame, MergesByPathHeavierFirst) {
  const Flame flame = build_flame(make_calls(), {});
  EXPECT_EQ(text_of(flame),
            "main 1000/400 x1\n"
            " work 500/400 x2\n"
            "  work 100/50 x1\n"
            "   helper 50/50 x1\n"
            " helper 100/100 x1\n");
  EXPECT_EQ(flame.total_ns, 1'000);
  EXPECT_EQ(flame.left_out, 0u);
  EXPECT_EQ(flame.source, FlameSource::kSlices);
  EXPECT_EQ(flame.functions[0].file, "a.py");
  EXPECT_EQ(flame.functions[0].line, 1);
  EXPECT_EQ(flame.functions[0].kind, SliceKind::kPython);
}

TEST(Flame, FocusTakesWhatIsBelowTheOutermostCalls) {
  const Trace trace = make_calls();
  FlameOptions options;
  options.focus = id_of(build_flame(trace, {}), "work");
  EXPECT_EQ(text_of(build_flame(trace, options)),
            "work 500/400 x2\n"
            " work 100/50 x1\n"
            "  helper 50/50 x1\n");
  options.inverted = true;
  EXPECT_EQ(text_of(build_flame(trace, options)),
            "work 500/0 x2\n"
            " main 500/500 x2\n");
  options.focus = 12345;
  EXPECT_EQ(build_flame(trace, options).nodes.size(), 0u);
}

TEST(Flame, InvertedGoesFromOwnTimeToCallers) {
  FlameOptions options;
  options.inverted = true;
  const Flame flame = build_flame(make_calls(), options);
  EXPECT_EQ(text_of(flame),
            "work 450/0 x3\n"
            " main 400/400 x2\n"
            " work 50/0 x1\n"
            "  main 50/50 x1\n"
            "main 400/400 x1\n"
            "helper 150/0 x2\n"
            " main 100/100 x1\n"
            " work 50/0 x1\n"
            "  work 50/0 x1\n"
            "   main 50/50 x1\n");
  EXPECT_EQ(flame.total_ns, 1'000);
}

TEST(Flame, LeavesOutAndCountsWhatIsBelowTheLeast) {
  FlameOptions options;
  options.least = 0.1;
  const Flame flame = build_flame(make_calls(), options);
  EXPECT_EQ(flame.nodes.size(), 4u);
  EXPECT_EQ(flame.left_out, 1u);
  options.least = 0;
  options.max_nodes = 2;
  const Flame small = build_flame(make_calls(), options);
  EXPECT_EQ(text_of(small), "main 1000/400 x1\n work 500/400 x2\n");
  EXPECT_EQ(small.left_out, 3u);
}

TEST(Flame, TakesTimesTracksAndKinds) {
  HandMadeTrace made;
  made.python("a.py(1): main", 0, 1'000);
  made.op("aten::linear", 100, 300);
  made.python("a.py(5): hook", 110, 100);
  made.op("aten::mm", 120, 50);
  made.op("aten::add", 600, 50);
  made.kernel("gemm", 700, 80, 1);
  const Trace trace = made.build();
  FlameOptions options;
  options.kinds = slice_kind_bit(SliceKind::kOperator);
  EXPECT_EQ(text_of(build_flame(trace, options)),
            "aten::linear 300/250 x1\n aten::mm 50/50 x1\naten::add 50/50 x1\n");
  options.kinds = slice_kind_bit(SliceKind::kKernel);
  EXPECT_EQ(text_of(build_flame(trace, options)), "gemm 80/80 x1\n");
  options = {};
  EXPECT_TRUE(build_flame(trace, options).left_out_streams);
  options.scope.begin_ns = 500;
  EXPECT_EQ(text_of(build_flame(trace, options)), "aten::add 50/50 x1\n");
  options = {};
  options.scope.tracks = {0, 1};
  EXPECT_EQ(text_of(build_flame(trace, options)), "gemm 80/80 x1\n");
}

TEST(Flame, AnyLabelOfAFunctionIsAFocus) {
  HandMadeTrace made;
  made.step("ProfilerStep#1", 0, 100);
  made.op("aten::mm", 10, 20);
  made.step("ProfilerStep#2", 200, 100);
  const Trace trace = made.build();
  FlameOptions options;
  options.focus = index(trace.slices().label[2]);
  EXPECT_EQ(text_of(build_flame(trace, options)),
            "ProfilerStep#* 200/180 x2\n aten::mm 20/20 x1\n");
}

TEST(Flame, ComesFromSamplesWhereThereIsNothingElse) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  const auto frame = [&](std::string_view name) {
    return builder.add_frame({builder.string(name), builder.string("a.py"), 3});
  };
  const StackId main = builder.add_stack({kNoStack, frame("main")});
  const StackId work = builder.add_stack({main, frame("work")});
  builder.add_sample(thread, 0, work, 10);
  builder.add_sample(thread, 10, work, 10);
  builder.add_sample(thread, 20, main, 10);
  const Trace trace = std::move(builder).finish();
  const Flame flame = build_flame(trace, {});
  EXPECT_EQ(flame.source, FlameSource::kSamples);
  EXPECT_EQ(text_of(flame), "main 30/10 x3\n work 20/20 x2\n");
  FlameOptions options;
  options.inverted = true;
  EXPECT_EQ(text_of(build_flame(trace, options)), "work 20/0 x2\n main 20/20 x2\nmain 10/10 x1\n");
  options.focus = id_of(flame, "work");
  EXPECT_EQ(text_of(build_flame(trace, options)), "work 20/0 x2\n main 20/20 x2\n");
}

// main -> f, g; f -> h takes three times as much as g -> h.
Trace make_call_edges() {
  TraceBuilder builder;
  const auto frame = [&](std::string_view name) {
    return builder.add_frame({builder.string(name), builder.string("a.py"), 3});
  };
  const FrameId main = frame("main"), f = frame("f"), g = frame("g"), h = frame("h");
  const auto edge = [&](FrameId caller, FrameId callee, uint64_t calls, int64_t self_ns,
                        int64_t total_ns) {
    builder.add_call_edge(caller, callee, calls, calls, self_ns, total_ns);
  };
  edge(kNoFrame, main, 1, 100, 1'000);
  edge(kNoFrame, f, 2, 200, 500);
  edge(kNoFrame, g, 1, 300, 400);
  edge(kNoFrame, h, 4, 400, 400);
  edge(main, f, 2, 200, 500);
  edge(main, g, 1, 300, 400);
  edge(f, h, 3, 300, 300);
  edge(g, h, 1, 100, 100);
  return std::move(builder).finish();
}

TEST(Flame, OfCallEdgesIsAnEstimateWithoutAFocus) {
  const Flame flame = build_flame(make_call_edges(), {});
  EXPECT_EQ(flame.source, FlameSource::kCallEdges);
  EXPECT_TRUE(flame.is_estimate);
  EXPECT_EQ(text_of(flame),
            "main 1000/100 x1\n"
            " f 500/200 x2\n"
            "  h 300/300 x3\n"
            " g 400/300 x1\n"
            "  h 100/100 x1\n");
}

TEST(Flame, OfCallEdgesIsExactAroundAFunction) {
  const Trace trace = make_call_edges();
  FlameOptions options;
  options.focus = id_of(build_flame(trace, {}), "h");
  options.inverted = true;
  const Flame callers = build_flame(trace, options);
  EXPECT_FALSE(callers.is_estimate);
  EXPECT_EQ(text_of(callers), "h 400/0 x4\n f 300/300 x3\n g 100/100 x1\n");
  options.focus = id_of(build_flame(trace, {}), "f");
  options.inverted = false;
  EXPECT_EQ(text_of(build_flame(trace, options)), "f 500/200 x2\n h 300/300 x3\n");
  options.focus.reset();
  options.inverted = true;
  const Flame own = build_flame(trace, options);
  EXPECT_FALSE(own.is_estimate);
  EXPECT_EQ(own.total_ns, 1'000);  // all own times together
  EXPECT_EQ(text_of(own).substr(0, 42), "h 400/0 x4\n f 300/300 x3\n g 100/100 x1\ng 3");
}

TEST(Flame, CallEdgesInACircleEnd) {
  TraceBuilder builder;
  const FrameId f = builder.add_frame({builder.string("f"), kEmptyString, 0});
  const FrameId g = builder.add_frame({builder.string("g"), kEmptyString, 0});
  builder.add_call_edge(kNoFrame, f, 9, 1, 100, 1'000);
  builder.add_call_edge(kNoFrame, g, 9, 1, 900, 990);
  builder.add_call_edge(f, g, 9, 9, 900, 990);
  builder.add_call_edge(g, f, 9, 9, 90, 900);
  const Trace trace = std::move(builder).finish();
  EXPECT_EQ(text_of(build_flame(trace, {})), "f 1000/100 x9\n g 900/818 x9\n");
}

// a calls b and c, which call each other: cProfile counts nearly all of a's time for both.
TEST(Flame, CallEdgesThatRecurseThroughEachOtherShareTheirCallersTime) {
  TraceBuilder builder;
  const auto frame = [&](std::string_view name) {
    return builder.add_frame({builder.string(name), kEmptyString, 0});
  };
  const FrameId a = frame("a"), b = frame("b"), c = frame("c");
  builder.add_call_edge(kNoFrame, a, 1, 1, 100, 1'000);
  builder.add_call_edge(kNoFrame, b, 9, 1, 450, 900);
  builder.add_call_edge(kNoFrame, c, 9, 1, 450, 900);
  builder.add_call_edge(a, b, 1, 1, 50, 900);
  builder.add_call_edge(a, c, 1, 1, 50, 900);
  builder.add_call_edge(b, c, 8, 8, 400, 850);
  builder.add_call_edge(c, b, 8, 8, 400, 850);
  const Flame flame = build_flame(std::move(builder).finish(), {});
  std::vector<int64_t> children_ns(flame.nodes.size());
  for (size_t i = 0; i < flame.nodes.size(); ++i) {
    if (flame.nodes.parent[i] >= 0) children_ns[flame.nodes.parent[i]] += flame.nodes.total_ns[i];
  }
  EXPECT_EQ(children_ns[0], 900);
  for (size_t i = 0; i < flame.nodes.size(); ++i) {
    EXPECT_LE(children_ns[i] + flame.nodes.self_ns[i], flame.nodes.total_ns[i]) << i;
  }
}

TEST(Flame, DeepRecursionsAreTurnedAroundWithinABudget) {
  HandMadeTrace made;
  constexpr int kLevels = 20'000;
  for (int i = 0; i < kLevels; ++i) {
    made.python("f" + std::to_string(i), i, 2 * (kLevels - i));
  }
  const Trace trace = made.build();
  FlameOptions options;
  options.inverted = true;
  options.least = 0;
  const Flame flame = build_flame(trace, options);
  EXPECT_GT(flame.cut_at_level, 10u);
  EXPECT_LT(flame.cut_at_level, 1'000u);
  EXPECT_LE(flame.nodes.size(), options.max_nodes);
  options.inverted = false;
  EXPECT_EQ(build_flame(trace, options).nodes.size(), static_cast<size_t>(kLevels));
}

TEST(Flame, CallsThatTookNoTimeAreShownWhereThereIsNothingElse) {
  HandMadeTrace made;
  made.op("aten::mm", 0, 100);
  made.op("aten::detach", 200, 0);
  const Trace trace = made.build();
  FlameOptions options;
  options.focus = index(trace.slices().label[1]);
  EXPECT_EQ(text_of(build_flame(trace, options)), "aten::detach 0/0 x1\n");
  EXPECT_EQ(build_flame(trace, {}).left_out, 1u);
}

TEST(Flame, AnEmptyTraceHasNoStacks) {
  const Flame flame = build_flame(HandMadeTrace().build(), {});
  EXPECT_EQ(flame.source, FlameSource::kNothing);
  EXPECT_EQ(flame.nodes.size(), 0u);
}

TEST(DiffFlame, JoinsPathsByNameThoughLinesMoved) {
  HandMadeTrace before, after;
  before.python("a.py(1): main", 0, 1'000);
  before.python("a.py(5): work", 100, 600);
  before.python("a.py(9): gone", 800, 100);
  after.python("a.py(1): main", 0, 2'000);
  after.python("a.py(6): work", 100, 400);
  after.python("a.py(11): fresh", 800, 900);
  const DiffFlame flame = build_diff_flame(before.build(), after.build(), {});
  EXPECT_EQ(flame.total_ns, 1'000);
  EXPECT_EQ(flame.other_ns, 2'000);
  std::string text;
  for (size_t row = 0; row < flame.nodes.size(); ++row) {
    text += std::to_string(flame.nodes.parent[row]) + ' ' +
            flame.functions[flame.nodes.function[row]].name + ' ' +
            std::to_string(flame.nodes.total_ns[row]) + ' ' +
            std::to_string(flame.nodes.other_ns[row]) + ' ' +
            std::to_string(flame.nodes.self_ns[row]) + ' ' +
            std::to_string(flame.nodes.other_self_ns[row]) + '\n';
  }
  EXPECT_EQ(text,
            "-1 main 1000 2000 300 700\n"
            "0 work 600 400 600 400\n"
            "0 fresh 0 900 0 900\n"
            "0 gone 100 0 100 0\n");
}

}  // namespace
}  // namespace stepscope
