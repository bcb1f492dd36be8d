#include "base/process_stat.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace stepscope {
namespace {

constexpr std::string_view kStat =
    "8217 (cat) R 8210 8210 6524 0 -1 4194304 100 7 3 2 51 12 40 9 20 0 1 0 1251505 3133440 384 "
    "18446744073709551615 94091021975552 94091021995433 140737037519776 0 0 0 0 0 0 0 0 0 17 1 0 0 "
    "5 0 0 94091022011440 94091022013056 94091160399872 140737037523655 140737037523689 "
    "140737037523689 140737037524971 0\n";

TEST(ParseProcessStat, ReadsTheFieldsByTheirNumbers) {
  ProcessStat stat;
  ASSERT_TRUE(parse_process_stat(kStat, stat));
  EXPECT_EQ(stat.parent, 8210);
  EXPECT_EQ(stat.minor_faults, 100u);
  EXPECT_EQ(stat.reaped_minor_faults, 7u);
  EXPECT_EQ(stat.major_faults, 3u);
  EXPECT_EQ(stat.reaped_major_faults, 2u);
  EXPECT_EQ(stat.user_ticks, 51u);
  EXPECT_EQ(stat.system_ticks, 12u);
  EXPECT_EQ(stat.reaped_user_ticks, 40u);
  EXPECT_EQ(stat.reaped_system_ticks, 9u);
  EXPECT_EQ(stat.start_ticks, 1251505u);
  EXPECT_EQ(stat.resident_pages, 384u);
  EXPECT_EQ(stat.block_io_ticks, 5u);
}

TEST(ParseProcessStat, TakesAnyNameOfTheProgram) {
  const std::string rest(kStat.substr(kStat.find(") R")));
  for (const char* name : {"a b", "x) R 1 2 3", "((", ")", "", "two\nlines"}) {
    ProcessStat stat;
    ASSERT_TRUE(parse_process_stat("8217 (" + std::string(name) + rest, stat)) << name;
    EXPECT_EQ(stat.parent, 8210) << name;
    EXPECT_EQ(stat.user_ticks, 51u) << name;
  }
}

TEST(ParseProcessStat, RefusesATextThatEndsBeforeItsLastNeededField) {
  const size_t needed = kStat.find(" 384 ") + 4;
  for (size_t length = 0; length <= kStat.size(); ++length) {
    ProcessStat stat;
    const bool is_whole = parse_process_stat(kStat.substr(0, length), stat);
    if (length < needed - 2) {
      EXPECT_FALSE(is_whole) << length;
    }
    if (length >= needed) {
      EXPECT_TRUE(is_whole) << length;
    }
  }
}

TEST(ParseProcessStat, NoTextMakesItFail) {
  for (size_t i = 0; i < kStat.size(); ++i) {
    std::string changed(kStat);
    changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
    ProcessStat stat;
    parse_process_stat(changed, stat);
    parse_process_stat(kStat.substr(i), stat);
  }
  ProcessStat stat;
  for (const char* other :
       {"cpu  917598 830880 296454\n", "rchar: 3\n", "12 34 56 ", ")))", "( ) R"}) {
    EXPECT_FALSE(parse_process_stat(other, stat)) << other;
  }
}

TEST(ReadProcessStat, FindsThisProcessAndNoOther) {
  const ProcessStat self = read_process_stat("self");
  EXPECT_EQ(self.parent, ::getppid());
  EXPECT_EQ(read_process_stat(std::to_string(::getpid())).start_ticks, self.start_ticks);
  EXPECT_GT(self.start_ticks, 0u);
  EXPECT_GE(self.threads, 1u);
  EXPECT_EQ(read_process_stat("no such").start_ticks, 0u);
}

}  // namespace
}  // namespace stepscope
