#include "trace/columns.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <type_traits>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

constexpr int64_t kLimitNs = int64_t{UINT32_MAX};

TEST(DurationColumn, KeepsDurationsOnBothSidesOfFourSeconds) {
  DurationColumn durations;
  const std::vector<int64_t> values = {
      0, 1, kLimitNs - 1, kLimitNs, kLimitNs + 1, int64_t{1} << 55};
  for (const int64_t value : values) durations.push_back(value);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(durations[i], values[i]);
  EXPECT_EQ(durations.longs().size(), 3u);
}

TEST(DurationColumn, ChangesRowsInAnyOrder) {
  std::mt19937_64 random(1);
  DurationColumn durations;
  std::vector<int64_t> expected;
  const auto any = [&] {
    return static_cast<int64_t>(random() % (random() % 2 == 0 ? 1000u : uint64_t{1} << 40));
  };
  for (int i = 0; i < 500; ++i) {
    expected.push_back(any());
    durations.push_back(expected.back());
  }
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 700; ++i) {
      const uint32_t row = static_cast<uint32_t>(random() % expected.size());
      expected[row] = any();
      durations.set(row, expected[row]);
      ASSERT_EQ(durations[row], expected[row]);
    }
    for (size_t row = 0; row < expected.size(); ++row) ASSERT_EQ(durations[row], expected[row]);
    durations.settle();
    size_t longs = 0;
    for (size_t row = 0; row < expected.size(); ++row) {
      ASSERT_EQ(durations[row], expected[row]);
      longs += expected[row] >= kLimitNs;
    }
    EXPECT_EQ(durations.longs().size(), longs);
    EXPECT_TRUE(std::is_sorted(durations.longs().begin(), durations.longs().end()));
  }
}

TEST(DurationColumn, AppendsWhatIsInItsOwnForm) {
  DurationColumn part;
  for (const int64_t value : {int64_t{3}, kLimitNs + 5, int64_t{4}}) part.push_back(value);
  DurationColumn whole;
  whole.push_back(9);
  whole.append(part.shorts(), part.longs());
  whole.append(part.shorts(), part.longs());
  EXPECT_EQ(whole.size(), 7u);
  EXPECT_EQ(whole[2], kLimitNs + 5);
  EXPECT_EQ(whole[5], kLimitNs + 5);
  EXPECT_EQ(whole[6], 4);
}

TEST(IntColumn, WidensWhenAValueDoesNotFit) {
  IntColumn ints;
  const std::vector<int64_t> values = {
      1, -2, INT32_MAX, INT32_MIN, int64_t{INT32_MAX} + 1, std::numeric_limits<int64_t>::min(), 0};
  for (const int64_t value : values) ints.push_back(value);
  ASSERT_EQ(ints.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(ints[i], values[i]);
}

TEST(ArgColumn, FindsTheValueOfASlice) {
  ArgColumn column;
  column.rows = {SliceId{2}, SliceId{5}, SliceId{9}};
  EXPECT_EQ(column.find(SliceId{5}), 1u);
  EXPECT_EQ(column.find(SliceId{6}), std::nullopt);
  EXPECT_EQ(column.find(SliceId{10}), std::nullopt);
}

template <typename Column>
size_t element_bytes(const Column&) {
  return sizeof(typename Column::value_type);
}

TEST(SliceColumns, TakeTwentyTwoBytesPerSlice) {
  TraceBuilder builder;
  const TrackId track = builder.add_thread({1}, {1});
  const LabelId label = builder.label("x", "", SliceKind::kOther);
  for (int i = 0; i < 1000; ++i) builder.add_slice(track, 1000 - i, 1, label);
  const Trace trace = std::move(builder).finish();
  const SliceColumns& slices = trace.slices();
  EXPECT_EQ(element_bytes(slices.start_ns) + element_bytes(slices.label) +
                element_bytes(slices.parent) + element_bytes(slices.depth) +
                sizeof(decltype(slices.dur_ns.shorts())::element_type),
            22u);
  // Nothing is held in reserve, and nothing more per slice than these five columns.
  EXPECT_EQ(slices.start_ns.capacity() * 8 + slices.label.capacity() * 4 +
                slices.parent.capacity() * 4 + slices.depth.capacity() * 2 +
                slices.dur_ns.shorts().size() * 4 + slices.dur_ns.longs().size() * 16,
            22'000u);
  EXPECT_TRUE(trace.args().empty());
}

}  // namespace
}  // namespace stepscope
