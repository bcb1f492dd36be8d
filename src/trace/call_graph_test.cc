#include "trace/call_graph.h"

#include <gtest/gtest.h>

#include <string>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

std::string text(const CallCost& cost) {
  return std::to_string(cost.calls) + "/" + std::to_string(cost.primitive_calls) + " self " +
         std::to_string(cost.self_ns) + " total " + std::to_string(cost.total_ns);
}

std::string text(const CallGraph& graph) {
  std::string lines;
  for (const CallGraph::Function& function : graph.functions) {
    lines += std::string(function.name.name) + " " +
             (function.is_only_caller ? "only caller" : text(function.cost)) + "\n";
  }
  for (const CallGraph::Edge& edge : graph.edges) {
    lines += std::string(graph.functions[edge.caller].name.name) + " -> " +
             std::string(graph.functions[edge.callee].name.name) + " " + text(edge.cost) + "\n";
  }
  return lines;
}

class CallGraphOfSlices : public testing::Test {
 protected:
  void call(std::string_view name, int64_t start_ns, int64_t dur_ns) {
    builder_.add_slice(thread_, start_ns, dur_ns, builder_.label(name, "", SliceKind::kPython));
  }
  std::string graph() { return text(*call_graph(std::move(builder_).finish())); }

  TraceBuilder builder_;
  TrackId thread_ = builder_.add_thread(ForeignId{1}, ForeignId{1});
};

// The expected figures of recursion are cProfile's for the same events: tests/python/test_prof.py
// compares more of them with cProfile itself.
TEST_F(CallGraphOfSlices, RecursionCountsPerFunctionAndPerEdge) {
  call("f", 0, 100);
  call("g", 10, 80);
  call("f", 20, 60);
  call("f", 30, 20);
  EXPECT_EQ(graph(),
            "f 3/1 self 80 total 100\n"
            "g 1/1 self 20 total 80\n"
            "g -> f 1/1 self 40 total 60\n"
            "f -> f 1/1 self 20 total 20\n"
            "f -> g 1/1 self 20 total 80\n");
}

TEST_F(CallGraphOfSlices, AnEdgeThatIsOpenTwiceHasOnePrimitiveCall) {
  call("f", 0, 100);
  call("g", 10, 80);
  call("f", 20, 60);
  call("g", 30, 40);
  EXPECT_EQ(graph(),
            "f 2/1 self 40 total 100\n"
            "g 2/1 self 60 total 80\n"
            "g -> f 1/1 self 20 total 60\n"
            "f -> g 2/1 self 60 total 80\n");
}

TEST_F(CallGraphOfSlices, OperatorsBetweenFunctionsAreLookedThrough) {
  call("f", 0, 100);
  builder_.add_slice(thread_, 10, 80, builder_.label("aten::mm", "", SliceKind::kOperator));
  call("hook", 20, 30);
  EXPECT_EQ(graph(),
            "f 1/1 self 20 total 100\n"
            "hook 1/1 self 30 total 30\n"
            "f -> hook 1/1 self 30 total 30\n");
}

TEST_F(CallGraphOfSlices, CallsOfModulesAreLookedThrough) {
  call("__call__", 0, 100);
  const LabelId module = builder_.label("nn.Module: Net", "nn_module", SliceKind::kPython);
  builder_.add_slice(thread_, 10, 80, module);
  call("forward", 10, 80);
  EXPECT_EQ(graph(),
            "__call__ 1/1 self 20 total 100\n"
            "forward 1/1 self 80 total 80\n"
            "__call__ -> forward 1/1 self 80 total 80\n");
}

TEST_F(CallGraphOfSlices, SlicesOfUnknownKindAreNoCallersOfFunctions) {
  call("f", 0, 100);
  builder_.add_slice(thread_, 10, 80, builder_.label("other", "", SliceKind::kOther));
  call("g", 20, 30);
  EXPECT_EQ(graph(),
            "f 1/1 self 20 total 100\n"
            "g 1/1 self 30 total 30\n"
            "f -> g 1/1 self 30 total 30\n");
}

TEST_F(CallGraphOfSlices, ThreadsAreSummedUpAndDoNotCallEachOther) {
  call("f", 0, 100);
  thread_ = builder_.add_thread(ForeignId{1}, ForeignId{2});
  call("f", 50, 10);
  call("g", 70, 5);
  EXPECT_EQ(graph(), "f 2/2 self 110 total 110\ng 1/1 self 5 total 5\n");
}

TEST_F(CallGraphOfSlices, APartHasCallersFromBeforeIt) {
  call("main", 0, 100);
  call("f", 10, 5);
  call("f", 60, 7);
  SliceScope scope;
  scope.begin_ns = 50;
  EXPECT_EQ(text(build_call_graph(std::move(builder_).finish(), scope)),
            "main only caller\nf 1/1 self 7 total 7\nmain -> f 1/1 self 7 total 7\n");
}

TEST(CallGraph, ComesFromCallEdges) {
  TraceBuilder builder;
  const auto frame = [&](std::string_view name) {
    return builder.add_frame({builder.string(name), kEmptyString, 1});
  };
  builder.add_call_edge(kNoFrame, frame("work"), 5, 3, 90, 95);
  builder.add_call_edge(frame("main"), frame("work"), 3, 3, 50, 90);
  builder.add_call_edge(frame("old"), frame("work"), 2, 2, kNoCallTimeNs, kNoCallTimeNs);
  builder.add_call_edge(frame("work"), frame("leaf"), 4, 4, 5, 6);
  const Trace trace = std::move(builder).finish();
  const auto graph = call_graph(trace);
  EXPECT_EQ(text(*graph),
            "work 5/3 self 90 total 95\n"
            "main only caller\n"
            "old only caller\n"
            "leaf 4/4 self 5 total 6\n"
            "main -> work 3/3 self 50 total 90\n"
            "old -> work 2/2 self 0 total 0\n"
            "work -> leaf 4/4 self 5 total 6\n");
  EXPECT_TRUE(graph->edges[0].has_times);
  EXPECT_FALSE(graph->edges[1].has_times);
}

TEST(CallGraph, ComesFromSamplesWithoutCalls) {
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
  const Trace trace = std::move(builder).finish();
  EXPECT_EQ(text(*call_graph(trace)),
            "main 0/0 self 100 total 700\n"
            "work 0/0 self 600 total 600\n"
            "main -> work 0/0 self 200 total 600\n"
            "work -> work 0/0 self 400 total 400\n");
  EXPECT_EQ(call_graph(trace)->samples, 3u);
}

TEST(CallGraph, TraceWithoutFunctionsHasNone) {
  TraceBuilder builder;
  const TrackId thread = builder.add_thread(ForeignId{1}, ForeignId{1});
  builder.add_slice(thread, 0, 100, builder.label("aten::add", "", SliceKind::kOperator));
  const Trace trace = std::move(builder).finish();
  EXPECT_EQ(call_graph(trace)->source, CallGraph::Source::kNone);
  EXPECT_TRUE(call_graph(trace)->functions.empty());
}

}  // namespace
}  // namespace stepscope
