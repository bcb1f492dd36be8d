#include "analyze/slice_details.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "analyze/hand_made_trace.h"
#include "analyze/json_field.h"

namespace stepscope {
namespace {

SliceId find_slice(const Trace& trace, std::string_view name) {
  for (uint32_t row = 0; row < trace.slices().size(); ++row) {
    if (trace.slice_name(SliceId{row}) == name) return SliceId{row};
  }
  return kNoSlice;
}

SliceDetails describe(const Trace& trace, std::string_view name) {
  Result<SliceDetails> details = describe_slice(trace, find_slice(trace, name));
  EXPECT_TRUE(details.ok()) << name;
  return details.ok() ? *std::move(details) : SliceDetails();
}

TEST(SliceDetails, TellsOwnTimeAndWhoHoldsIt) {
  HandMadeTrace made;
  made.python("train.py(3): main", 1'000, 500);
  made.op("aten::linear", 1'100, 300);
  made.op("aten::mm", 1'150, 100);
  made.op("aten::add", 1'300, 50);
  made.op("aten::t", 1'310, 10);
  const Trace trace = made.build();
  const SliceDetails linear = describe(trace, "aten::linear");
  EXPECT_EQ(linear.place.start_ns, 100);  // from the trace's begin
  EXPECT_EQ(linear.place.dur_ns, 300);
  EXPECT_EQ(linear.self_ns, 150);  // aten::t is aten::add's
  EXPECT_EQ(linear.children, 2u);
  EXPECT_EQ(linear.category, "cpu_op");
  EXPECT_EQ(linear.kind, SliceKind::kOperator);
  ASSERT_EQ(linear.parents.size(), 1u);
  EXPECT_EQ(linear.parents[0].name, "train.py(3): main");
  EXPECT_EQ(linear.file, "train.py");
  EXPECT_EQ(linear.line, 3);
  const SliceDetails last = describe(trace, "aten::t");
  ASSERT_EQ(last.parents.size(), 3u);
  EXPECT_EQ(last.parents[0].name, "aten::add");
  EXPECT_EQ(last.place.depth, 3);
}

TEST(SliceDetails, ArgumentsAreJsonWhateverTheFileHolds) {
  HandMadeTrace made;
  const SliceRef op = made.op("aten::mm", 0, 10);
  made.set_int(op, "External id", 17);
  made.set_double(op, "ratio", 0.5);
  made.set_string(op, "note", "a \"word\"\n\xff");
  made.set_json(op, "Input Dims", "[[2,3],[]]");
  made.set_json(op, "torn", "[1, 2");
  made.set_json(made.op("aten::add", 20, 10), "Input Dims", "[[4]]");
  const Trace trace = made.build();
  const SliceDetails details = describe(trace, "aten::mm");
  ASSERT_EQ(details.args.size(), 5u);
  const std::map<std::string_view, std::string> expected = {
      {"External id", "17"},
      {"ratio", "0.5"},
      {"note", "\"a \\\"word\\\"\\n\xEF\xBF\xBD\""},
      {"Input Dims", "[[2,3],[]]"},
      {"torn", "\"[1, 2\""},
  };
  for (const SliceArgument& arg : details.args) {
    EXPECT_TRUE(is_json(arg.json)) << arg.json;
    EXPECT_EQ(arg.json, expected.at(arg.key)) << arg.key;
  }
}

TEST(SliceDetails, StackIsThePythonCallsAroundInnermostFirst) {
  HandMadeTrace made;
  made.python("train.py(3): main", 0, 500);
  made.annotation("epoch", 5, 400);
  made.python("model.py(7): forward", 10, 300);
  made.op("aten::mm", 20, 100);
  const Trace trace = made.build();
  const SliceDetails details = describe(trace, "aten::mm");
  ASSERT_EQ(details.stack.size(), 2u);
  EXPECT_EQ(details.stack[0].name, "forward");
  EXPECT_EQ(details.stack[0].file, "model.py");
  EXPECT_EQ(details.stack[0].line, 7);
  EXPECT_EQ(details.stack[1].name, "main");
  EXPECT_FALSE(details.is_forward_stack);
}

TEST(SliceDetails, BackwardHasTheStackOfItsForwardOperator) {
  HandMadeTrace made;
  made.python("train.py(3): main", 0, 1'000);
  made.python("model.py(7): forward", 10, 100);
  const SliceRef forward = made.op("aten::linear", 20, 50);
  made.python("tensor.py(9): backward", 200, 300);
  const SliceRef backward = made.op("AddmmBackward0", 210, 100);
  made.op("aten::mm", 220, 50);
  made.builder().add_flow(forward, backward, 20, 210, 1,
                          made.builder().label("fwdbwd", "fwdbwd", SliceKind::kOther));
  const Trace trace = made.build();
  const SliceDetails details = describe(trace, "aten::mm");
  EXPECT_TRUE(details.is_forward_stack);
  ASSERT_EQ(details.stack.size(), 2u);
  EXPECT_EQ(details.stack[0].name, "forward");
  const SliceDetails node = describe(trace, "AddmmBackward0");
  ASSERT_EQ(node.links.size(), 1u);
  EXPECT_FALSE(node.links[0].is_out);
  EXPECT_EQ(node.links[0].what, "fwdbwd");
  EXPECT_EQ(node.links[0].other.name, "aten::linear");
  EXPECT_TRUE(describe(trace, "aten::linear").links.at(0).is_out);
}

TEST(SliceDetails, StackComesFromTheArgumentOfOlderFiles) {
  HandMadeTrace made;
  made.set_string(made.op("aten::mm", 0, 10), "Call stack",
                  "model.py(7): forward;train.py(3): main");
  const Trace trace = made.build();
  const SliceDetails details = describe(trace, "aten::mm");
  ASSERT_EQ(details.stack.size(), 2u);
  EXPECT_EQ(details.stack[1].file, "train.py");
  EXPECT_EQ(details.line, 7);
}

TEST(SliceDetails, LaunchesAndTheirWorkFindEachOther) {
  HandMadeTrace made;
  made.op("aten::mm", 0, 100);
  made.launch(10, 20, 7);
  made.kernel("gemm", 50, 400, 7);
  made.kernel("gemm_tail", 460, 40, 7);
  made.kernel("other", 600, 40, 8);
  const Trace trace = made.build();
  const SliceDetails launch = describe(trace, "cudaLaunchKernel");
  ASSERT_EQ(launch.links.size(), 2u);
  EXPECT_EQ(launch.links[0].other.name, "gemm");
  EXPECT_TRUE(launch.links[0].is_out);
  EXPECT_EQ(launch.links[0].what, "launch");
  const SliceDetails kernel = describe(trace, "gemm_tail");
  ASSERT_EQ(kernel.links.size(), 1u);
  EXPECT_EQ(kernel.links[0].other.name, "cudaLaunchKernel");
  EXPECT_FALSE(kernel.links[0].is_out);
  EXPECT_TRUE(describe(trace, "other").links.empty());
}

TEST(SliceDetails, WithoutRuntimeCallsTheOperatorIsTheLaunch) {
  HandMadeTrace made;
  made.set_int(made.op("aten::mm", 0, 100), "External id", 5);
  made.set_int(made.kernel("gemm", 50, 400, 0), "External id", 5);
  const Trace trace = made.build();
  ASSERT_EQ(describe(trace, "gemm").links.size(), 1u);
  EXPECT_EQ(describe(trace, "gemm").links[0].other.name, "aten::mm");
}

TEST(SliceDetails, SaysThatThereIsNoSuchSlice) {
  HandMadeTrace made;
  made.op("aten::mm", 0, 100);
  const Trace trace = made.build();
  EXPECT_FALSE(describe_slice(trace, SliceId{1}).ok());
  EXPECT_EQ(describe_slice(trace, kNoSlice).status().message(),
            "no slice 4294967295: the trace has 1");
}

}  // namespace
}  // namespace stepscope
