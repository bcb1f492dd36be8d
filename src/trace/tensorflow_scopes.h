// The names under which TensorFlow records what a program does.
#pragma once

#include <string_view>

namespace stepscope {

// Executors of functions, which begin with the next piece of work before the last has quite ended:
// these slices need not nest.
inline constexpr std::string_view kExecutorCategory = "executor";

}  // namespace stepscope
