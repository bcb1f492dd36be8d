#include "analyze/slice_search.h"

#include <gtest/gtest.h>

#include "analyze/hand_made_trace.h"

namespace stepscope {
namespace {

FoundSlices search(const Trace& trace, std::string_view query, size_t limit = 100) {
  Result<FoundSlices> found = search_slices(trace, query, limit);
  EXPECT_TRUE(found.ok()) << query;
  return found.ok() ? *std::move(found) : FoundSlices();
}

TEST(SliceSearch, FindsNamesByPartWithoutCases) {
  HandMadeTrace made;
  made.op("aten::conv2d", 0, 10);
  made.op("aten::Conv1d", 20, 10);
  made.op("aten::mm", 40, 10);
  const Trace trace = made.build();
  const FoundSlices found = search(trace, "CONV");
  EXPECT_EQ(found.total, 2u);
  ASSERT_EQ(found.matches.size(), 2u);
  EXPECT_EQ(found.matches[1].name, "aten::Conv1d");
  EXPECT_EQ(found.matches[1].start_ns, 20);
  EXPECT_EQ(search(trace, "aten::mm").total, 1u);  // no argument is called "aten"
  EXPECT_EQ(search(trace, ".").total, 0u);         // a point is a point
  EXPECT_EQ(search(trace, "").total, 0u);
}

TEST(SliceSearch, TakesARegularExpressionBetweenSlashes) {
  HandMadeTrace made;
  made.op("aten::conv2d", 0, 10);
  made.op("aten::conv3d", 20, 10);
  made.op("a/b", 30, 10);
  const Trace trace = made.build();
  EXPECT_EQ(search(trace, "/CONV[12]d$/").total, 1u);
  EXPECT_EQ(search(trace, "/").total, 1u);  // no expression, a slash
  const Result<FoundSlices> bad = search_slices(trace, "/conv(/", 10);
  ASSERT_FALSE(bad.ok());
  EXPECT_TRUE(bad.status().message().starts_with("bad regular expression 'conv(': missing )"))
      << bad.status().message();
}

TEST(SliceSearch, TheFirstByStartComeFromAllTracks) {
  HandMadeTrace made;
  for (int i = 0; i < 50; ++i) made.op("work", 100 * i, 10);
  for (int i = 0; i < 50; ++i) made.kernel("work", 100 * i + 50, 10, i + 1);
  const Trace trace = made.build();
  const FoundSlices found = search(trace, "work", 7);
  EXPECT_EQ(found.total, 100u);
  ASSERT_EQ(found.matches.size(), 7u);
  for (size_t i = 0; i < found.matches.size(); ++i) {
    EXPECT_EQ(found.matches[i].start_ns, static_cast<int64_t>(50 * i));
    EXPECT_EQ(index(found.matches[i].track), i % 2);
  }
  EXPECT_EQ(search(trace, "work", 0).total, 100u);
}

TEST(SliceSearch, FindsByTheValueOfAnArgument) {
  HandMadeTrace made;
  made.set_int(made.op("a", 0, 10), "External id", 17);
  made.set_int(made.op("b", 20, 10), "External id", 170);
  made.set_json(made.op("c", 40, 10), "Input Dims", "[[64,3,7,7]]");
  made.set_string(made.op("d", 60, 10), "External id", "x17");
  const Trace trace = made.build();
  const FoundSlices by_number = search(trace, "external id:17");
  EXPECT_EQ(by_number.total, 2u);  // the number 17, and the text that holds it
  EXPECT_EQ(by_number.matches[0].name, "a");
  EXPECT_EQ(by_number.matches[1].name, "d");
  EXPECT_EQ(search(trace, "Input Dims: 64,3").total, 1u);
  EXPECT_EQ(search(trace, "Input Dims:/7\\]\\]$/").total, 1u);
  EXPECT_EQ(search(trace, "Input Dims:").total, 1u);
  EXPECT_EQ(search(trace, "External id:").total, 3u);
}

}  // namespace
}  // namespace stepscope
