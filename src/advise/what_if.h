// WhatIf: a program as it is not: what is left of the time of what runs in slices of a label, on
// the host, on the device, or on the device because of the host. 1: all of it, 0.5: twice as fast,
// 0: none. Where slices of such labels lie in each other, the innermost decides.
//
//   WhatIf twice_as_fast(trace);
//   twice_as_fast.scale("aten::conv2d", 0.5);
//   replay.step_ns(twice_as_fast);
#pragma once

#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

struct WhatIf {
  explicit WhatIf(const Trace& trace);

  const Trace& trace;
  // By label. All that runs on the host in it; where nothing is left, waiting for the device
  // neither.
  std::vector<float> host;
  std::vector<float> device;    // kernels and copies of that name
  std::vector<float> launched;  // kernels and copies that were launched from within it
  float nothing = 1;            // where the host has no slice at all

  // Of a host label: what runs in it on the host, and what it launches.
  void scale(LabelId label, float left);
  // Every label of that name, and functions called so. Whether there is any.
  bool scale(std::string_view name, float left);
};

}  // namespace stepscope
