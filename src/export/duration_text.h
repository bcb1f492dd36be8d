// A duration as the pictures write it: "831 ns", "1.204 us", "177.6 ms", "12.50 s".
#pragma once

#include <cstdint>
#include <string>

namespace stepscope {

std::string duration_text(int64_t ns);

}  // namespace stepscope
