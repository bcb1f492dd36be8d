#include "trace/function_name.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(FunctionName, IsTakenApart) {
  const auto check = [](std::string_view text, std::string_view name, std::string_view file,
                        int64_t line) {
    const FunctionName parsed = parse_function_name(text);
    EXPECT_EQ(parsed.name, name) << text;
    EXPECT_EQ(parsed.file, file) << text;
    EXPECT_EQ(parsed.line, line) << text;
  };
  check("torch/nn/modules/module.py(1194): _call_impl", "_call_impl", "torch/nn/modules/module.py",
        1194);
  check("<string>(1): <module>", "<module>", "<string>", 1);
  check("fib (/home/me/fib.py:3)", "fib", "/home/me/fib.py", 3);
  check("<built-in method len>", "<built-in method len>", "", 0);
  check("f (x)", "f (x)", "", 0);
  check("(): ", "(): ", "", 0);
  check("a.py(99999999999999999999): f", "a.py(99999999999999999999): f", "", 0);
  check("", "", "", 0);
}

TEST(FunctionName, EndsInTheNameThatCProfileKnows) {
  EXPECT_EQ(last_name("f"), "f");
  EXPECT_EQ(last_name("A.f"), "f");
  EXPECT_EQ(last_name("g.<locals>.h"), "h");
  EXPECT_EQ(last_name("A.g.<locals>.<lambda>"), "<lambda>");
  EXPECT_EQ(last_name("<module>"), "<module>");
  EXPECT_EQ(last_name("A.<generic parameters of B.f>"), "<generic parameters of B.f>");
  EXPECT_EQ(last_name(""), "");
}

}  // namespace
}  // namespace stepscope
