#include "collect/sample/line_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "collect/sample/pythons_for_tests.h"

namespace stepscope::sample {
namespace {

constexpr PythonVersion kVersions[] = {{3, 8}, {3, 9}, {3, 10}, {3, 11}, {3, 12}, {3, 13}};

std::vector<uint8_t> bytes_of_hex(const std::string& hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// Code with jumps back and forth, long gaps and lines without code, and what Python says of it.
constexpr char kPrintLines[] = R"(
import dis, sys
def print_lines(code):
    new = sys.version_info >= (3, 10)
    table = code.co_linetable if new else code.co_lnotab
    print(code.co_firstlineno, table.hex() or '-', end='')
    if new:
        for begin, end, line in code.co_lines():
            for at in range(begin, end, 2): print('', at, line or 0, end='')
    else:
        starts = dict(dis.findlinestarts(code)); line = code.co_firstlineno
        for at in range(0, len(code.co_code), 2):
            line = starts.get(at, line); print('', at, line, end='')
    print()
    for c in code.co_consts:
        if hasattr(c, 'co_code'): print_lines(c)
source = 'def f(a):\n' + '\n' * 300 + '  if a:\n' + '\n' * 200 + '    return [\n' + '\n' * 40
source += '      x for x in a\n      if x]\n  try:\n    with a as b: b(\n  1,\n\n 2)\n'
source += '  finally:\n    a = (1 +\n' + '\n' * 130 + '   a(2))\n  for i in a: yield i\n'
source += 'class C:\n  def g(self): return lambda: (self,\n  1)\n'
source += 'x = [' + ',\n'.join('x%d' % i for i in range(400)) + ']\n'
print_lines(compile(source, 's', 'exec'))
print('end', flush=True)
)";

class LineTableTest : public testing::TestWithParam<int> {};

TEST_P(LineTableTest, EveryInstructionHasTheLineThatPythonSays) {
  const std::string python = find_python(GetParam());
  if (python.empty()) GTEST_SKIP() << "no Python 3." << GetParam();
  ProgramForTests program({python, "-c", kPrintLines});
  int functions = 0, instructions = 0;
  for (std::string line = program.read_line(); line != "end"; line = program.read_line()) {
    ASSERT_FALSE(line.empty()) << "the program has ended";
    std::istringstream words(line);
    int first_line = 0, at = 0, wanted = 0;
    std::string hex;
    words >> first_line >> hex;
    const std::vector<uint8_t> table = bytes_of_hex(hex == "-" ? "" : hex);
    for (++functions; words >> at >> wanted; ++instructions) {
      ASSERT_EQ(find_line({3, GetParam()}, table, first_line, at), wanted) << "at " << at;
    }
  }
  EXPECT_GE(functions, 5);
  EXPECT_GT(instructions, 400);
}

INSTANTIATE_TEST_SUITE_P(Python3, LineTableTest, testing::Range(8, 14));

TEST(LineTable, BeforeTheFirstInstructionIsTheFirstLine) {
  for (const PythonVersion version : kVersions) EXPECT_EQ(find_line(version, {}, 12, -1), 12);
}

TEST(LineTable, AnEmptyTableHasTheFirstLineOnly) {
  for (const PythonVersion version : kVersions) EXPECT_EQ(find_line(version, {}, 12, 100), 12);
}

// It is not to crash, hang or read beyond the end; which line comes out does not matter.
TEST(LineTable, DamagedTablesDoNoHarm) {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint8_t> table(random() % 40);
    for (uint8_t& byte : table) byte = static_cast<uint8_t>(random());
    const PythonVersion version = kVersions[random() % std::size(kVersions)];
    for (const int32_t at : {0, 2, 100, INT32_MAX}) find_line(version, table, 1, at);
  }
}

TEST(LineTable, LinesThatLeaveTheRangeOfNumbersDoNoHarm) {
  // Steps of the largest size, again and again.
  const std::vector<uint8_t> entry = {0xf0, 0x7f, 0x7f, 0x7f, 0x7f, 0x3e, 0, 0, 0};
  std::vector<uint8_t> table;
  for (int i = 0; i < 100; ++i) table.insert(table.end(), entry.begin(), entry.end());
  find_line({3, 11}, table, INT32_MAX, INT32_MAX);
  find_line({3, 10}, std::vector<uint8_t>(1000, 0x7f), INT32_MAX, INT32_MAX);
  find_line({3, 8}, std::vector<uint8_t>(1000, 0x7f), INT32_MAX, INT32_MAX);
}

}  // namespace
}  // namespace stepscope::sample
