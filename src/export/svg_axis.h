// The axis of time in a picture: where its marks are, and what is written at them.
//
//   const int64_t distance_ns = round_distance(span_ns / 10);
//   for (int64_t at_ns = 0; at_ns <= span_ns; at_ns += distance_ns) write(axis_text(at_ns,
//   distance_ns));
#pragma once

#include <cstdint>
#include <string>

namespace stepscope {

// 1, 2 or 5 times a power of ten, at least `least`.
int64_t round_distance(int64_t least);
// A moment on the axis, in the unit of the distance between two marks.
std::string axis_text(int64_t ns, int64_t distance_ns);

}  // namespace stepscope
