// Arguments of slices, as TraceBuilder makes them into columns.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

class Args : public testing::Test {
 protected:
  SliceRef add_slice(int64_t start_ns) {
    return builder_.add_slice(thread_, start_ns, 1, builder_.label("x", "", SliceKind::kOther));
  }
  const Trace& finish() { return trace_.emplace(std::move(builder_).finish()); }

  TraceBuilder builder_;
  TrackId thread_ = builder_.add_thread({1}, {1});
  std::optional<Trace> trace_;
};

TEST_F(Args, FollowTheirSlicesWhenTheseAreSorted) {
  const ArgColumnRef column = builder_.arg_column("n", ArgType::kInt);
  for (const int64_t start : {30, 10, 20}) builder_.add_int(column, add_slice(start), start);
  finish();
  const ArgColumn* n = trace_->find_args("n", ArgType::kInt);
  ASSERT_NE(n, nullptr);
  EXPECT_EQ(n->rows, (std::vector<SliceId>{SliceId{0}, SliceId{1}, SliceId{2}}));
  EXPECT_EQ(n->ints[0], 10);
  EXPECT_EQ(n->ints[2], 30);
  EXPECT_EQ(trace_->find_args("n", ArgType::kDouble), nullptr);
  EXPECT_EQ(trace_->find_args("m", ArgType::kInt), nullptr);
}

TEST_F(Args, MayBeAddedInAnyOrder) {
  const ArgColumnRef column = builder_.arg_column("n", ArgType::kInt);
  const SliceRef a = add_slice(1);
  const SliceRef b = add_slice(2);
  builder_.add_int(column, b, 2);
  builder_.add_int(column, a, 1);
  finish();
  EXPECT_EQ(trace_->args()[0].ints[0], 1);
  EXPECT_EQ(trace_->args()[0].ints[1], 2);
}

TEST_F(Args, KeepTheLastOfSeveralValues) {
  const ArgColumnRef column = builder_.arg_column("n", ArgType::kDouble);
  const SliceRef a = add_slice(1);
  const SliceRef b = add_slice(2);
  builder_.add_double(column, a, 1);
  builder_.add_double(column, b, 2);
  builder_.add_double(column, a, 3);
  builder_.add_double(column, a, 4);
  finish();
  ASSERT_EQ(trace_->args()[0].rows.size(), 2u);
  EXPECT_EQ(trace_->args()[0].doubles, (std::vector<double>{4, 2}));
}

TEST_F(Args, HaveAColumnForEveryTypeOfAKey) {
  const SliceRef a = add_slice(1);
  builder_.add_int(builder_.arg_column("k", ArgType::kInt), a, int64_t{1} << 40);
  builder_.add_double(builder_.arg_column("k", ArgType::kDouble), a, 0.5);
  builder_.add_string(builder_.arg_column("k", ArgType::kString), a, builder_.string("text"));
  builder_.add_int(builder_.arg_column("k", ArgType::kBool), a, 1);
  builder_.add_string(builder_.arg_column("k", ArgType::kJson), a, builder_.string("[1]"));
  builder_.arg_column("unused", ArgType::kInt);
  finish();
  ASSERT_EQ(trace_->args().size(), 5u);
  EXPECT_EQ(trace_->find_args("k", ArgType::kInt)->ints[0], int64_t{1} << 40);
  EXPECT_EQ(trace_->string(trace_->find_args("k", ArgType::kJson)->string(0)), "[1]");
}

TEST_F(Args, OfAnEndGoToTheSliceThatItCloses) {
  const ArgColumnRef column = builder_.arg_column("n", ArgType::kInt);
  const ArgColumnRef other = builder_.arg_column("m", ArgType::kInt);
  const LabelId label = builder_.label("x", "", SliceKind::kOther);
  const SliceRef outer = builder_.begin_slice(thread_, 0, label);
  builder_.begin_slice(thread_, 5, label);
  builder_.add_int(column, builder_.end_slice(thread_, 7, true), 2);
  builder_.add_int(column, outer, 0);
  const SliceRef end = builder_.end_slice(thread_, 20, true);
  builder_.add_int(column, end, 1);
  builder_.add_int(other, end, 3);
  finish();
  ASSERT_EQ(trace_->slices().size(), 2u);
  const ArgColumn* n = trace_->find_args("n", ArgType::kInt);
  ASSERT_EQ(n->rows.size(), 2u);
  EXPECT_EQ(n->ints[0], 1);  // the end's value came after the begin's
  EXPECT_EQ(n->ints[1], 2);
  EXPECT_EQ(trace_->find_args("m", ArgType::kInt)->rows, std::vector<SliceId>{SliceId{0}});
}

TEST_F(Args, EqualAMapForRandomValuesDenseAndSparse) {
  std::mt19937_64 random(5);
  for (const size_t values : {20u, 200u, 5000u}) {
    TraceBuilder builder;
    const TrackId thread = builder.add_thread({1}, {1});
    const LabelId label = builder.label("x", "", SliceKind::kOther);
    const ArgColumnRef column = builder.arg_column("n", ArgType::kInt);
    std::vector<SliceRef> slices;
    for (int i = 0; i < 1000; ++i) {
      slices.push_back(builder.add_slice(thread, (i * 7919) % 1000, 0, label));
    }
    std::map<int64_t, int64_t> expected;  // by start, which is the row
    for (size_t i = 0; i < values; ++i) {
      const SliceRef slice = slices[random() % slices.size()];
      builder.add_int(column, slice, static_cast<int64_t>(i));
      expected[builder.start_ns(slice)] = static_cast<int64_t>(i);
    }
    const Trace trace = std::move(builder).finish();
    const ArgColumn& n = trace.args()[0];
    ASSERT_EQ(n.rows.size(), expected.size());
    size_t at = 0;
    for (const auto& [row, value] : expected) {
      ASSERT_EQ(index(n.rows[at]), row);
      ASSERT_EQ(n.ints[at], value);
      ++at;
    }
  }
}

}  // namespace
}  // namespace stepscope
