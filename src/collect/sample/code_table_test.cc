#include "collect/sample/code_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "collect/sample/pythons_for_tests.h"
#include "collect/sample/stack_reader.h"

namespace stepscope::sample {
namespace {

class CodeTableTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (find_python(GetParam()).empty()) GTEST_SKIP() << "no Python 3." << GetParam();
  }
};

// The functions are gone when they have run, and their addresses are used again at once.
constexpr char kShortLived[] = R"(
import sys
print('ready', flush=True)
def work(n):
    total = 0
    for i in range(n): total += i
    return total
while True:
    for i in range(10_000):
        names = {'work': work}
        exec('def made_%d():\n%s    return work(%d)' % (i, '\n' * (i % 50), 2000 + i % 200), names)
        names['made_%d' % i]()
)";

TEST_P(CodeTableTest, AnAddressThatIsUsedAgainIsAnotherFunction) {
  ProgramForTests program({find_python(GetParam()), "-c", kShortLived});
  ASSERT_EQ(program.read_line(), "ready");
  const auto process = PythonProcess::find(program.pid());
  ASSERT_TRUE(process.ok()) << process.status().message();
  CodeTable codes(*process);
  StackReader reader(*process, codes);
  std::vector<ThreadStack> stacks;
  std::set<std::string> made;
  std::set<uint64_t> addresses;
  for (int i = 0; i < 300'000 && (made.size() < 60 || addresses.size() >= made.size()); ++i) {
    ASSERT_TRUE(reader.read(stacks));
    if (stacks.empty() || stacks[0].is_torn) continue;
    for (const StackFrame& frame : stacks[0].frames) {
      const Code& code = *codes.find(frame.code);
      if (!code.name.starts_with("made_")) {
        const bool is_known = code.name == "work" || code.name == "<module>";
        EXPECT_TRUE(is_known) << code.name;
        continue;
      }
      // Its name and its line belong together.
      const int number = std::stoi(code.name.substr(5));
      EXPECT_EQ(code.first_line, 1) << code.name;
      const int line = code.line(frame.instruction);
      EXPECT_TRUE(line == 2 + number % 50 || line == 1) << code.name << ":" << line;
      made.insert(code.name);
      addresses.insert(frame.code);
    }
  }
  EXPECT_GE(made.size(), 60u);
  EXPECT_LT(addresses.size(), made.size());
}

TEST_P(CodeTableTest, AFunctionThatIsMadeAgainAndAgainIsOne) {
  ProgramForTests program({find_python(GetParam()), "-c", R"(
print('ready', flush=True)
while True:
    names = {}
    exec('def made(): return sum(range(20000))', names)
    names['made']()
)"});
  ASSERT_EQ(program.read_line(), "ready");
  const auto process = PythonProcess::find(program.pid());
  ASSERT_TRUE(process.ok()) << process.status().message();
  CodeTable codes(*process);
  StackReader reader(*process, codes);
  std::vector<ThreadStack> stacks;
  std::set<uint32_t> ids;
  for (int i = 0, seen = 0; i < 200'000 && seen < 500; ++i) {
    ASSERT_TRUE(reader.read(stacks));
    if (stacks.empty() || stacks[0].is_torn) continue;
    for (const StackFrame& frame : stacks[0].frames) {
      const Code& code = *codes.find(frame.code);
      if (code.name != "made") continue;
      ids.insert(code.id);
      ++seen;
    }
  }
  EXPECT_EQ(ids.size(), 1u);
  EXPECT_LE(codes.size(), 3u);
}

TEST_P(CodeTableTest, WhatIsNoCodeHasNoName) {
  ProgramForTests program({find_python(GetParam()), "-c",
                           "import time; x = 'text' * 1000; print(id(x), flush=True); "
                           "time.sleep(600)"});
  const uint64_t text = std::stoull(program.read_line());
  const auto process = PythonProcess::find(program.pid());
  ASSERT_TRUE(process.ok()) << process.status().message();
  CodeTable codes(*process);
  std::vector<uint64_t> addresses = {0, 8, UINT64_MAX - 7, uint64_t{1} << 47, text, text + 1};
  for (uint64_t i = 0; i < 1000; ++i) addresses.push_back(text - 4000 + 8 * i);
  codes.check(addresses);
  codes.check(addresses);
  for (const uint64_t address : {uint64_t{0}, uint64_t{8}, UINT64_MAX - 7, text, text + 1}) {
    EXPECT_EQ(codes.find(address), nullptr) << address;
    EXPECT_EQ(codes.frame_bytes(address), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Python3, CodeTableTest, testing::Range(8, 14));

}  // namespace
}  // namespace stepscope::sample
