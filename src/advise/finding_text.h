// Figures as findings say them in sentences.
#pragma once

#include <cstdint>
#include <string>

namespace stepscope {

std::string in_percent(double fraction);                      // "62 %", "0.4 %"
std::string in_time(int64_t ns);                              // "81 ms"
std::string times_less(int64_t before_ns, int64_t after_ns);  // "from 81 ms to about 34 ms"

}  // namespace stepscope
