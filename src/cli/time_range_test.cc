#include "cli/time_range.h"

#include <gtest/gtest.h>

namespace stepscope::cli {
namespace {

void expect_range(const char* text, int64_t begin_ns, int64_t end_ns) {
  const auto range = parse_range(text);
  ASSERT_TRUE(range.ok()) << range.status().message();
  EXPECT_EQ(range->begin_ns, begin_ns) << text;
  EXPECT_EQ(range->end_ns, end_ns) << text;
}

TEST(TimeRange, TakesTimesWithUnits) {
  expect_range("1.5s..2s", 1'500'000'000, 2'000'000'000);
  expect_range("120ms..300ms", 120'000'000, 300'000'000);
  expect_range("0..1us", 0, 1'000);
  expect_range("0.1us..0.2us", 100, 200);
}

TEST(TimeRange, LeavesAMissingSideOpen) {
  expect_range("120ms..", 120'000'000, INT64_MAX);
  expect_range("..300us", 0, 300'000);
  expect_range("..1m", 0, 60'000'000'000);
}

TEST(TimeRange, SaysWhatIsWrong) {
  for (const auto& [text, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "is no range"},
           {"..", "neither a begin nor an end"},
           {"5s", "is no range"},
           {"5..6", "needs a unit"},
           {"1s..2h", "unknown unit"},
           {"2s..1s", "ends before it begins"},
           {"1s..1s", "ends before it begins"},
           {"-1s..2s", "is below zero"},
           {"x..2s", "is no time"},
           {"1s..99999999999s", "is too much"},
           {"nan..1s", "is no time"},
           {"1s..2s..3s", "unknown unit"},
       }) {
    const auto range = parse_range(text);
    ASSERT_FALSE(range.ok()) << text;
    EXPECT_NE(range.status().message().find(why), std::string::npos) << range.status().message();
  }
}

}  // namespace
}  // namespace stepscope::cli
