#include "trace/operator_details.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace stepscope {
namespace {

class OperatorDetailsTest : public testing::Test {
 protected:
  // `thread` and `forward_thread` are torch's numbers.
  SliceRef add(std::string_view name, int64_t start_ns, uint64_t sequence,
               uint64_t forward_thread = 0, uint64_t scope = 0, uint64_t thread = 1) {
    const SliceRef slice = add_slice(name, start_ns);
    details_.add_operator(
        slice, std::vector<uint64_t>{sequence, forward_thread << 32 | scope << 24 | thread});
    return slice;
  }
  SliceRef add_backward(std::string_view name, int64_t start_ns, uint64_t sequence,
                        uint64_t forward_thread = 1) {
    return add(name, start_ns, sequence, forward_thread, 1, 2);
  }
  SliceRef add_slice(std::string_view name, int64_t start_ns) {
    const LabelId label = builder_.label(name, "cpu_op", SliceKind::kOperator);
    return builder_.add_slice(thread_, start_ns, 5, label);
  }

  // "mm -> MmBackward0 7, ...": the arrows and their numbers.
  std::string finish() {
    details_.finish();
    trace_.emplace(std::move(builder_).finish());
    const FlowColumns& flows = trace_->flows();
    std::string text;
    for (size_t i = 0; i < flows.from.size(); ++i) {
      if (!text.empty()) text += ", ";
      text += std::string(trace_->slice_name(flows.from[i])) + " -> " +
              std::string(trace_->slice_name(flows.to[i])) + ' ' + std::to_string(flows.id[i]);
    }
    return text;
  }
  std::vector<int64_t> ints(std::string_view key) const {
    const ArgColumn* column = trace_->find_args(key, ArgType::kInt);
    std::vector<int64_t> values;
    for (size_t i = 0; column != nullptr && i < column->rows.size(); ++i) {
      values.push_back(column->ints[i]);
    }
    return values;
  }
  std::vector<std::string> texts(std::string_view key) const {
    const ArgColumn* column = trace_->find_args(key, ArgType::kJson);
    std::vector<std::string> values;
    for (size_t i = 0; column != nullptr && i < column->rows.size(); ++i) {
      values.emplace_back(trace_->string(column->string(i)));
    }
    return values;
  }

  TraceBuilder builder_;
  TrackId thread_ = builder_.add_thread({1}, {1});
  OperatorDetails details_{builder_};
  std::optional<Trace> trace_;
};

TEST_F(OperatorDetailsTest, AnArrowLeadsFromTheForwardOperatorToTheBackwardOne) {
  add("mm", 0, 7);
  add("relu", 10, 8);
  add_backward("ReluBackward0", 20, 8);
  add_backward("MmBackward0", 30, 7);
  EXPECT_EQ(finish(), "mm -> MmBackward0 7, relu -> ReluBackward0 8");
  EXPECT_EQ(ints("Sequence number"), (std::vector<int64_t>{7, 8, 8, 7}));
  EXPECT_EQ(ints("Fwd thread id"), (std::vector<int64_t>{0, 0, 1, 1}));
}

TEST_F(OperatorDetailsTest, OfSeveralForwardOperatorsOfOneNumberTheLastIsTheOne) {
  add("inner", 20, 7);
  add("linear", 0, 7);
  add("addmm", 30, 7);
  add("middle", 25, 7);
  add_backward("AddmmBackward0", 50, 7);
  EXPECT_EQ(finish(), "addmm -> AddmmBackward0 7");
}

TEST_F(OperatorDetailsTest, NumbersOfAnotherForwardThreadAreOthers) {
  add("of 1", 0, 7, 0, 0, 1);
  add("of 3", 10, 7, 0, 0, 3);
  add_backward("back of 3", 20, 7, 3);
  add_backward("back of 9", 30, 7, 9);
  EXPECT_EQ(finish(), "of 3 -> back of 3 7");
}

TEST_F(OperatorDetailsTest, WhatABackwardNodeCallsHasNoArrowOfItsOwn) {
  add("mm", 0, 7);
  add_backward("MmBackward0", 20, 7);
  add("mm of backward", 22, 7, 1, 0, 2);
  EXPECT_EQ(finish(), "mm -> MmBackward0 7");
}

TEST_F(OperatorDetailsTest, ABackwardOperatorMayBeReadBeforeItsForwardOne) {
  add_backward("MmBackward0", 20, 7);
  add("mm", 0, 7);
  EXPECT_EQ(finish(), "mm -> MmBackward0 7");
}

TEST_F(OperatorDetailsTest, NumbersThatNoProgramReachesHaveNoArrow) {
  add("mm", 0, UINT64_MAX);
  add("mm", 10, uint64_t{1} << 40);
  add_backward("MmBackward0", 20, UINT64_MAX, UINT32_MAX);
  add_backward("MmBackward0", 30, uint64_t{1} << 40);
  add_backward("MmBackward0", 40, 0);
  EXPECT_EQ(finish(), "");
}

TEST_F(OperatorDetailsTest, WordsThatAreMissingAreCounted) {
  const SliceRef slice = add_slice("mm", 0);
  details_.add_operator(slice, {});
  details_.add_operator(slice, std::vector<uint64_t>{7});
  EXPECT_EQ(finish(), "");
  EXPECT_EQ(trace_->stats().get(Stat::kEventsSkipped), 2u);
  EXPECT_TRUE(trace_->args().empty());
}

TEST_F(OperatorDetailsTest, InputsMayComeInPieces) {
  const SliceRef first = add_slice("first", 0), second = add_slice("second", 10);
  // Two truth values, true and false; then one that is true.
  details_.add_inputs(first, std::vector<uint64_t>{2 | uint64_t{0x10006} << 32});
  details_.add_inputs(first, std::vector<uint64_t>{6});
  details_.add_inputs(second, std::vector<uint64_t>{1 | uint64_t{0x10006} << 32});
  finish();
  EXPECT_EQ(texts("Concrete Inputs"),
            (std::vector<std::string>{R"(["True", "False"])", R"(["True"])"}));
  EXPECT_EQ(texts("Input Dims"), (std::vector<std::string>{"[[], []]", "[[]]"}));
  EXPECT_EQ(texts("Input Strides"), texts("Input Dims"));
  EXPECT_EQ(texts("Input type"),
            (std::vector<std::string>{R"(["Scalar", "Scalar"])", R"(["Scalar"])"}));
}

}  // namespace
}  // namespace stepscope
