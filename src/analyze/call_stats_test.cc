#include "analyze/call_stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

namespace stepscope {
namespace {

// tests/python/test_pstats.py compares all of this with Python's pstats; here is what it can not
// reach, and a little of each.
CallStats make_stats() {
  CallProfile profile;
  const uint32_t f = profile.add_function("/x/a.py", 1, "f");
  const uint32_t g = profile.add_function("/y/a.py", 1, "f");
  const uint32_t len = profile.add_function("~", 0, "<len>");
  profile.add_entry(f).figures = {3, 1, 0.5, 2};
  profile.add_entry(g).figures = {1, 1, 0.25, 0.25};
  profile.add_entry(len).figures = {4, 4, 0.125, 0.125};
  profile.add_entry(len).callers = {{f, true, {1, 1, 0.1, 0.1}}, {g, true, {3, 3, 0.02, 0.02}}};
  return CallStats(std::move(profile));
}

TEST(CallStats, FunctionsThatAreTheSameWithoutFoldersBecomeOne) {
  const auto stats = make_stats().without_folders();
  ASSERT_TRUE(stats.ok());
  const auto entries = stats->profile().entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].figures.calls, 4);
  EXPECT_EQ(entries[0].figures.self_s, 0.75);
  ASSERT_EQ(entries[1].callers.size(), 1u);  // the last one stays, as in pstats
  EXPECT_EQ(entries[1].callers[0].figures.calls, 3);
}

TEST(CallStats, AddsItself) {
  CallStats stats = make_stats();
  ASSERT_TRUE(stats.add(stats).ok());
  EXPECT_EQ(stats.totals().calls, 16);
  EXPECT_EQ(stats.profile().entries()[2].callers[1].figures.calls, 6);
}

TEST(CallStats, CountsStayAtTheEndOfTheRange) {
  CallProfile profile;
  profile.add_entry(profile.add_function("a", 1, "f")).figures = {INT64_MAX, INT64_MAX, 0, 0};
  CallStats stats(std::move(profile));
  ASSERT_TRUE(stats.add(stats).ok());
  EXPECT_EQ(stats.totals().calls, INT64_MAX);
}

TEST(CallStats, TimesThatAreNoNumbersCanBeSorted) {
  CallProfile profile;
  for (int i = 0; i < 1000; ++i) {
    const double self_s = i % 3 == 0 ? std::nan("") : i % 7;
    profile.add_entry(profile.add_function("a", i, "f")).figures.self_s = self_s;
  }
  const CallStats stats(std::move(profile));
  const CallStats::SortKey key{CallStats::Field::kSelf, true};
  EXPECT_EQ(stats.sort({&key, 1}).size(), 1000u);
}

TEST(AppendSeconds, EqualsPrintf) {
  const double values[] = {0,      -0.0,   0.0005,    0.0015,
                           2.5e-4, 1.0005, 1234.5675, 99999.9995,
                           -3.25,  1e22,   1.7e308,   std::numeric_limits<double>::infinity()};
  for (const double value : values) {
    char expected[400];
    std::snprintf(expected, sizeof(expected), "%8.3f", value);
    std::string text;
    append_seconds(text, value);
    EXPECT_EQ(text, expected);
  }
  std::string text;
  append_seconds(text, -std::nan(""));  // Python has no sign for it
  EXPECT_EQ(text, "     nan");
}

}  // namespace
}  // namespace stepscope
