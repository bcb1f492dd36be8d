// The name of a function as tools write it into a slice's name, taken apart:
//   Kineto      torch/nn/modules/module.py(1194): _call_impl
//   viztracer   fib (/home/me/fib.py:3)
// Anything else is a name without a file.
#pragma once

#include <cstdint>
#include <string_view>

namespace stepscope {

struct FunctionName {
  std::string_view name;
  std::string_view file;  // "" where it is unknown
  int64_t line = 0;       // 0 where it is unknown
};

// Where cProfile says that a function of C is, with line 0.
inline constexpr std::string_view kBuiltInFile = "~";

// Refers to the text.
FunctionName parse_function_name(std::string_view text);

// The name that a function has for cProfile: the end of its qualified one. "f" of "A.f", "<lambda>"
// of "g.<locals>.<lambda>". Refers to the name.
std::string_view last_name(std::string_view name);

}  // namespace stepscope
