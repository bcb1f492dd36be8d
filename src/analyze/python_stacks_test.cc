#include "analyze/python_stacks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analyze/hand_made_trace.h"

namespace stepscope {
namespace {

void add_arrow(HandMadeTrace& made, SliceRef from, SliceRef to, std::string_view label = "fwdbwd") {
  TraceBuilder& builder = made.builder();
  builder.add_flow(from, to, builder.start_ns(from), builder.start_ns(to), 1,
                   builder.label(label, label, SliceKind::kOther));
}

SliceId find_slice(const Trace& trace, std::string_view name) {
  for (uint32_t row = 0; row < trace.slices().size(); ++row) {
    if (trace.slice_name(SliceId{row}) == name) return SliceId{row};
  }
  return kNoSlice;
}

std::string stack_of(const Trace& trace, std::string_view name, int depth = -1) {
  const PythonStacks stacks(trace);
  return stacks.text(stacks.around(find_slice(trace, name)), depth);
}

TEST(PythonStacks, AreTheCallsAroundInnermostFirst) {
  HandMadeTrace made;
  made.python("train", 0, 100);
  made.annotation("scope", 5, 90);
  made.python("forward", 10, 50);
  made.op("aten::linear", 20, 30);
  made.op("aten::mm", 25, 10);
  made.op("aten::add_", 70, 10);
  const Trace trace = made.build();
  EXPECT_EQ(stack_of(trace, "aten::linear"), "forward;train");
  EXPECT_EQ(stack_of(trace, "aten::mm"), "forward;train");
  EXPECT_EQ(stack_of(trace, "aten::add_"), "train");
  EXPECT_EQ(stack_of(trace, "forward"), "train") << "not itself";
  EXPECT_EQ(stack_of(trace, "train"), "");
}

TEST(PythonStacks, HaveOneNumberForOneChain) {
  HandMadeTrace made;
  for (const int64_t start : {0, 100}) {
    made.python("f", start, 50);
    made.op("mm", start + 10, 10);
  }
  made.python("g", 200, 50);
  made.op("mm", 210, 10);
  const Trace trace = made.build();
  const PythonStacks stacks(trace);
  EXPECT_EQ(stacks.around(SliceId{0}), 0u);
  EXPECT_EQ(stacks.around(SliceId{1}), stacks.around(SliceId{3}));
  EXPECT_NE(stacks.around(SliceId{1}), stacks.around(SliceId{5}));
}

TEST(PythonStacks, AreCutToTheDepthThatIsAskedFor) {
  HandMadeTrace made;
  made.python("a", 0, 100);
  made.python("b", 10, 80);
  made.python("c", 20, 60);
  made.op("mm", 30, 10);
  const Trace trace = made.build();
  EXPECT_EQ(stack_of(trace, "mm", 1), "c");
  EXPECT_EQ(stack_of(trace, "mm", 2), "c;b");
  EXPECT_EQ(stack_of(trace, "mm", 9), "c;b;a");
  EXPECT_EQ(stack_of(trace, "mm", 0), "c;b;a");
}

TEST(PythonStacks, OfBackwardOperatorsAreThoseOfTheForwardOnes) {
  HandMadeTrace made;
  made.python("train", 0, 1000);
  made.python("forward", 10, 50);
  const SliceRef forward = made.op("aten::mm", 20, 30);
  made.python("backward", 100, 500);
  const SliceRef backward = made.op("MmBackward0", 200, 100);
  made.op("aten::t", 210, 10);
  made.op("AccumulateGrad", 400, 10);
  add_arrow(made, forward, backward);
  const Trace trace = made.build();
  EXPECT_EQ(stack_of(trace, "MmBackward0"), "forward;train");
  EXPECT_EQ(stack_of(trace, "aten::t"), "forward;train") << "what the backward operator does";
  EXPECT_EQ(stack_of(trace, "AccumulateGrad"), "backward;train") << "without a forward operator";
  EXPECT_EQ(stack_of(trace, "aten::mm"), "forward;train");
}

TEST(PythonStacks, FollowArrowsToAThreadThatComesFirst) {
  HandMadeTrace made;
  const TrackId worker = made.builder().add_thread(ForeignId{1}, ForeignId{2});
  const auto add = [&](std::string_view name, SliceKind kind, int64_t start, int64_t dur) {
    return made.add(worker, name, "", kind, start, dur);
  };
  const SliceRef backward = made.op("MmBackward0", 500, 100);
  add("forward", SliceKind::kPython, 10, 50);
  add_arrow(made, add("aten::mm", SliceKind::kOperator, 20, 10), backward);
  EXPECT_EQ(stack_of(made.build(), "MmBackward0"), "forward");
}

TEST(PythonStacks, FollowNoOtherArrows) {
  HandMadeTrace made;
  made.python("f", 0, 50);
  const SliceRef from = made.op("a", 10, 10);
  made.python("g", 100, 50);
  const SliceRef to = made.op("b", 110, 10);
  add_arrow(made, from, to, "async_cpu_to_gpu");
  EXPECT_EQ(stack_of(made.build(), "b"), "g");
}

TEST(PythonStacks, ArrowsInACircleComeToAnEnd) {
  HandMadeTrace made;
  made.python("f", 0, 100);
  const SliceRef a = made.op("a", 10, 50);
  const SliceRef b = made.op("b", 20, 10);
  add_arrow(made, a, b);
  add_arrow(made, b, a);
  add_arrow(made, a, a);
  EXPECT_EQ(stack_of(made.build(), "b"), "f");
}

TEST(PythonStacks, OfADeepRecursionAreCutAndSaySo) {
  constexpr int kLevels = 30'000;
  HandMadeTrace made;
  for (int level = 0; level < kLevels; ++level) {
    made.python("f", 2 * level, 4 * kLevels - 4 * level);
    made.op("mm", 2 * level + 1, 1);
  }
  const Trace trace = made.build();
  const PythonStacks stacks(trace);
  std::string longest;
  for (uint32_t row = 0; row < trace.slices().size(); ++row) {
    longest = std::max(longest, stacks.text(stacks.around(SliceId{row}), -1));
  }
  EXPECT_EQ(std::count(longest.begin(), longest.end(), ';'), PythonStacks::kMaxFunctions);
  EXPECT_TRUE(longest.ends_with(";f;...")) << longest.substr(longest.size() - 20);
  EXPECT_EQ(stack_of(trace, "mm", 3), "f") << "the first of them";
}

}  // namespace
}  // namespace stepscope
